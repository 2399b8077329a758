// The objects that a proxy keeps: as many as it has room for, and of these the last used.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

class LruCache {
 public:
  explicit LruCache(size_t capacity) : capacity_(capacity) {}

  // What is there of the URL, which is then the last used.
  std::optional<std::string> Find(const std::string& url) {
    const auto found = places_.find(url);
    if (found == places_.end()) return std::nullopt;
    objects_.splice(objects_.begin(), objects_, found->second);
    return found->second->second;
  }

  // REQUIRES: it is not there yet. Returns the URL that had to go, if one had.
  std::optional<std::string> Insert(const std::string& url, std::string object) {
    objects_.emplace_front(url, std::move(object));
    places_.emplace(url, objects_.begin());
    if (objects_.size() <= capacity_) return std::nullopt;
    std::string oldest = objects_.back().first;
    places_.erase(oldest);
    objects_.pop_back();
    return oldest;
  }

  // URLs and objects, the last used first.
  const std::list<std::pair<std::string, std::string>>& objects() const { return objects_; }

 private:
  const size_t capacity_;
  std::list<std::pair<std::string, std::string>> objects_;
  std::unordered_map<std::string, decltype(objects_)::iterator> places_;
};
