// How many sessions one peer may have.
#include "lib/transport/peer_places.h"

#include <gtest/gtest.h>

namespace rocksieve::join {
namespace {

TEST(PeerPlaces, EachPeerHasItsOwnAndGivesThemBack) {
  PeerPlaces places(2);
  auto first = places.Take("a"), second = places.Take("a");
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(places.Take("a"), nullptr);
  EXPECT_NE(places.Take("b"), nullptr);
  first.reset();
  EXPECT_NE(places.Take("a"), nullptr);  // given back at once
  first = places.Take("a");
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(places.Take("a"), nullptr);
}

TEST(PeerPlaces, AddressesAreTheSamePeerWhateverThePort) {
  EXPECT_EQ(AddressWithoutPort("ipv4:127.0.0.1:4711"), "ipv4:127.0.0.1");
  EXPECT_EQ(AddressWithoutPort("ipv6:[::1]:4711"), "ipv6:[::1]");
  EXPECT_EQ(AddressWithoutPort("unix:/tmp/socket"), "unix:/tmp/socket");
}

}  // namespace
}  // namespace rocksieve::join
