#include <rocksieve/routing/filter_tree_node.h>

namespace rocksieve {

FilterTreeNode::FilterTreeNode(const FilterTreeOptions& options, NodeId id,
                               std::optional<NodeId> parent)
    : options_(options), id_(id), parent_(parent), subtree_filter_(options.filter) {
  options_.filter = subtree_filter_.options();  // as they are after rounding
}

bool FilterTreeNode::IsKnown(NodeId id) const {
  return id == id_ || id == parent_ || children_.count(id) != 0 || siblings_.count(id) != 0;
}

bool FilterTreeNode::AddChild(NodeId child, const BloomFilter& filter) {
  if (IsKnown(child) || filter.options() != options_.filter) return false;
  children_.emplace(child, filter);
  AddToSubtree(filter);
  return true;
}

bool FilterTreeNode::AddSibling(NodeId sibling, const BloomFilter& filter) {
  const bool possible = options_.know_siblings && parent_ && !IsKnown(sibling);
  if (!possible || filter.options() != options_.filter) return false;
  siblings_.emplace(sibling, filter);
  return true;
}

void FilterTreeNode::Add(std::string_view key) {
  keys_.Add(key);
  AddToSubtree(subtree_filter_.KeyHash(key));
}

// Whoever has been told of this filter has all bits that are set in it, so that only keys which set
// a new one have to be told.
void FilterTreeNode::AddToSubtree(uint64_t key_hash) {
  if (subtree_filter_.MayContainHash(key_hash)) return;
  subtree_filter_.AddHash(key_hash);
  if (all_unpublished_ || !parent_) return;
  unpublished_.push_back(key_hash);
  if (unpublished_.size() * 64 > options_.filter.bits) {
    all_unpublished_ = true;
    unpublished_.clear();
  }
}

void FilterTreeNode::AddToSubtree(const BloomFilter& filter) {
  const BloomFilter before = subtree_filter_;
  subtree_filter_.Merge(filter);
  if (subtree_filter_ == before || !parent_) return;
  all_unpublished_ = true;
  unpublished_.clear();
}

bool FilterTreeNode::Receive(NodeId from, const FilterUpdate& update) {
  if (update.filter && update.filter->options() != options_.filter) return false;
  const auto child = children_.find(from), sibling = siblings_.find(from);
  const bool is_child = child != children_.end();
  if (!is_child && sibling == siblings_.end()) return false;
  BloomFilter& known = is_child ? child->second : sibling->second;
  if (update.filter) {
    known.Merge(*update.filter);
    if (is_child) AddToSubtree(*update.filter);
  }
  for (const uint64_t hash : update.key_hashes) {
    known.AddHash(hash);
    if (is_child) AddToSubtree(hash);
  }
  return true;
}

void FilterTreeNode::Publish(const Tell& tell) {
  FilterUpdate update;
  update.key_hashes.swap(unpublished_);
  if (all_unpublished_) update.filter = subtree_filter_;
  all_unpublished_ = false;
  if (update.key_hashes.empty() && !update.filter) return;
  tell(*parent_, update);
  for (const auto& [sibling, filter] : siblings_) tell(sibling, update);
}

RouteAnswer FilterTreeNode::Route(std::string_view key, NodeId asker, RouteScope scope,
                                  const Ask& ask) const {
  RouteAnswer answer;
  if (Holds(key)) {
    answer.holder = id_;
    return answer;
  }
  const auto forward = [&](NodeId to, RouteScope further, bool suggested_by_filter) {
    const RouteAnswer theirs = ask(to, id_, key, further);
    answer.holder = theirs.holder;
    answer.forwards += 1 + theirs.forwards;
    answer.false_forwards += theirs.false_forwards + (suggested_by_filter && !theirs.holder);
    return answer.holder.has_value();
  };
  const uint64_t hash = subtree_filter_.KeyHash(key);
  if (scope != RouteScope::kNotBelow && subtree_filter_.MayContainHash(hash)) {
    for (const auto& [child, filter] : children_) {
      if (scope == RouteScope::kNotBelowAsker && child == asker) continue;
      if (filter.MayContainHash(hash) && forward(child, RouteScope::kSubtree, true)) return answer;
    }
  }
  if (scope == RouteScope::kSubtree || !parent_) return answer;
  for (const auto& [sibling, filter] : siblings_) {
    if (filter.MayContainHash(hash) && forward(sibling, RouteScope::kSubtree, true)) return answer;
  }
  forward(*parent_, options_.know_siblings ? RouteScope::kNotBelow : RouteScope::kNotBelowAsker,
          false);
  return answer;
}

size_t FilterTreeNode::MemoryBytes() const {
  size_t bytes = sizeof(*this) + keys_.MemoryBytes() + subtree_filter_.MemoryBytes() +
                 unpublished_.capacity() * sizeof(uint64_t);
  for (const auto& [id, filter] : children_) bytes += filter.MemoryBytes();
  for (const auto& [id, filter] : siblings_) bytes += filter.MemoryBytes();
  return bytes;
}

}  // namespace rocksieve
