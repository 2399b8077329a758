// What a URL is looked up by: hashes of the expressions that a blocklist may have for it.
// Source: Google Safe Browsing, Update API v4, "URLs and Hashing".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// SHA-256: one way, so that a list does not give away its URLs, and nobody can make a harmless URL
// that is taken for another one.
inline constexpr size_t kHashBytes = 32, kPrefixBytes = 4;
std::string LookupHash(std::string_view expression);

// The host and up to four shorter ones of its last five components, each with the path and query,
// the path, and up to four of its folders, from the top. "http://a.b.example/1/2.html?q" has
// "a.b.example/1/2.html?q", "a.b.example/1/2.html", "a.b.example/", "a.b.example/1/", and the same
// for "b.example". Without scheme, user, port and fragment, the host in lower case. Percent signs
// and numeric addresses are left as they are, which a real client must not do.
std::vector<std::string> Expressions(std::string_view url);
