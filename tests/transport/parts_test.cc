// SPDX-License-Identifier: Apache-2.0
// Parts of the transport: addresses, listening, certificates and tokens, what errors show, views.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <sstream>
#include <thread>

#include <absl/strings/str_format.h>
#include <gmock/gmock.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "lib/transport/credentials.h"
#include "lib/transport/status.h"
#include "lib/transport/view_registry.h"
#include "tests/transport/support.h"

namespace rocksieve::join {
namespace {

using testing::HasSubstr;

TEST(Address, KnowsWhatIsLocal) {
  for (const char* local : {"127.0.0.1:1", "127.8.9.1:1", "localhost:99", "[::1]:5", "unix:/tmp/a",
                            "dns:///localhost:7", "ipv4:127.0.0.1:7", "ipv6:[::1]:7"}) {
    EXPECT_TRUE(IsLocal(local)) << local;
  }
  for (const char* other :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.0.0.1.example.org:1", "127.example.org:1",
        "localhost.example.org:1", "example.org:1", ":1", "dns:///example.org:1", "127.0.0:1"}) {
    EXPECT_FALSE(IsLocal(other)) << other;
  }
}

TEST(Address, SplitsLists) {
  const auto two = SplitAddresses("a:1,dns:///b:2");
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(*two, (std::vector<std::string>{"a:1", "dns:///b:2"}));
  for (const char* bad : {"", "a", "a:", "a:x", "a:1,", "a:1,,b:2", "a:1,a:1", "a:0", "a:65536"}) {
    EXPECT_FALSE(SplitAddresses(bad).ok()) << bad;
  }
}

TEST(Address, SaysWhatIsWrong) {
  const auto fault = [](const char* address, AddressUse use) {
    return std::string(CheckAddress(address, use).message());
  };
  for (const AddressUse use : {AddressUse::kConnect, AddressUse::kListen}) {
    for (const char* good : {"a:1", "[::1]:65535", "unix:a", "unix:///run/a", "dns://1.1.1.1/a:7",
                             "ipv6:[::1]:7", "127.0.0.1:7420"}) {
      EXPECT_EQ(fault(good, use), "");
    }
    const std::map<const char*, const char*> faults = {{"foo", "must look like host:port"},
                                                       {"", "must look like host:port"},
                                                       {":7", "host is missing"},
                                                       {"a:", "port is missing"},
                                                       {"a:65536", "65536, is not one"},
                                                       {"a:99999999999", "is not one of"},
                                                       {"a:-1", "\"-1\", is no number"},
                                                       {"a:x", "\"x\", is no number"},
                                                       {"::1:7", "into brackets"},
                                                       {"unix:", "must have a path"},
                                                       {"dns:///a", "must look like host:port"}};
    for (const auto& [address, text] : faults) {
      EXPECT_THAT(fault(address, use), HasSubstr(text)) << address;
      EXPECT_THAT(fault(address, use), HasSubstr(address));
    }
    EXPECT_THAT(fault(("unix:/" + std::string(200, 'x')).c_str(), use), HasSubstr("has 201 bytes"));
  }
  EXPECT_EQ(fault("a:0", AddressUse::kListen), "");
  EXPECT_THAT(fault("a:0", AddressUse::kConnect), HasSubstr("only for listening"));
}

absl::StatusOr<std::unique_ptr<GrpcJoinServer>> Start(const std::string& address) {
  ServerOptions options = InsecureOptions();
  options.address = address;
  return GrpcJoinServer::Start(Serving({}), options);
}

class Listening : public testing::Test {
 protected:
  void TearDown() override { unlink(path_.c_str()); }

  const std::string path_ = testing::TempDir() + "rocksieve-listening-" + std::to_string(getpid());
  const std::string address_ = "unix:" + path_;
};

TEST_F(Listening, ALivingServerKeepsItsSocketAndADeadOneDoesNot) {
  for (const bool ours : {true, false}) {
    auto first = ours ? Start(address_) : nullptr;
    const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (!ours) {
      ASSERT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
      ASSERT_EQ(listen(descriptor, 1), 0);
    }
    const absl::Status second = Start(address_).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
    EXPECT_THAT(second.message(), HasSubstr("another server does already"));
    EXPECT_EQ(access(path_.c_str(), F_OK), 0);
    close(descriptor);
    if (ours) first->reset();
  }
  EXPECT_TRUE(Start(address_).ok());  // over what the dead one left
}

TEST_F(Listening, AFileIsKept) {
  std::ofstream(path_) << "precious";
  const auto server = Start(address_);
  EXPECT_TRUE(absl::IsFailedPrecondition(server.status()));
  EXPECT_THAT(server.status().message(), HasSubstr("no socket; it was kept"));
  std::stringstream text;
  text << std::ifstream(path_).rdbuf();
  EXPECT_EQ(text.str(), "precious");
}

TEST_F(Listening, ATakenPortAndAForeignAddress) {
  const auto first = Start("127.0.0.1:0");
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Start("127.0.0.1:" + std::to_string((*first)->port()));
  EXPECT_THAT(second.status().message(), HasSubstr("Address already in use"));
  EXPECT_THAT(Start("foo").status().message(), HasSubstr("must look like host:port"));
  EXPECT_THAT(Start("127.0.0.1:65536").status().message(), HasSubstr("65536"));
  EXPECT_THAT(Start("unix:/no/such/directory/a").status().message(), HasSubstr("its directory"));
}

// Certificates and keys that cannot be used, or not together; tokens.

constexpr long kDay = 86'400;

template <typename Write>
std::string Pem(Write write) {
  BIO* const bytes = BIO_new(BIO_s_mem());
  EXPECT_EQ(write(bytes), 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bytes, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free_all(bytes);
  return pem;
}

struct Pair {
  // Valid from so many seconds from now until so many.
  explicit Pair(long from = -kDay, long until = kDay) {
    EVP_PKEY* const pkey = EVP_EC_gen("P-256");
    X509* const x509 = X509_new();
    X509_gmtime_adj(X509_getm_notBefore(x509), from);
    X509_gmtime_adj(X509_getm_notAfter(x509), until);
    X509_set_pubkey(x509, pkey);
    EXPECT_GT(X509_sign(x509, pkey, EVP_sha256()), 0);
    certificate = Pem([&](BIO* bytes) { return PEM_write_bio_X509(bytes, x509); });
    key = Pem([&](BIO* bytes) {
      return PEM_write_bio_PrivateKey(bytes, pkey, nullptr, nullptr, 0, nullptr, nullptr);
    });
    const unsigned char word[] = "secret";
    locked_key = Pem([&](BIO* bytes) {
      return PEM_write_bio_PrivateKey(bytes, pkey, EVP_aes_128_cbc(), word, 6, nullptr, nullptr);
    });
    X509_free(x509);
    EVP_PKEY_free(pkey);
  }
  std::string certificate, key, locked_key;
};

std::string Fault(const std::string& certificate, const std::string& key) {
  return std::string(CheckPair("a.crt", certificate, "a.key", key).message());
}

TEST(CertificateCheck, APair) {
  const Pair pair, other;
  EXPECT_EQ(Fault(pair.certificate, pair.key), "");
  EXPECT_EQ(Fault(pair.certificate + other.certificate, pair.key), "");  // with its issuer
  EXPECT_THAT(Fault(pair.certificate, other.key),
              HasSubstr("the key in a.key is not that of the certificate in a.crt"));
  EXPECT_THAT(Fault("", pair.key), HasSubstr("no certificate in a.crt"));
  EXPECT_THAT(Fault(pair.key, pair.key), HasSubstr("no certificate in a.crt"));
  EXPECT_THAT(Fault(pair.certificate, pair.certificate), HasSubstr("no key in a.key"));
  EXPECT_THAT(Fault(pair.certificate, pair.locked_key), HasSubstr("passphrase"));
  EXPECT_THAT(Fault(pair.certificate, pair.key.substr(0, 60)), HasSubstr("no key in a.key"));
}

TEST(CertificateCheck, OnlyWhatIsValidNow) {
  const Pair pair, old(-2 * kDay, -kDay), future(kDay, 2 * kDay);
  EXPECT_THAT(Fault(old.certificate, old.key), HasSubstr("a.crt expired on "));
  EXPECT_THAT(Fault(future.certificate, future.key), HasSubstr("a.crt is not valid before "));
  EXPECT_TRUE(CheckAuthority("ca", pair.certificate).ok());
  // A bundle keeps old ones beside the new ones.
  EXPECT_TRUE(CheckAuthority("ca", old.certificate + pair.certificate).ok());
  EXPECT_THAT(CheckAuthority("ca", old.certificate).message(), HasSubstr("ca expired on "));
  EXPECT_THAT(CheckAuthority("ca", pair.key).message(), HasSubstr("no certificate in ca"));
}

TEST(CertificateCheck, NotWithoutTls) {
  Security security;
  security.insecure = true;
  EXPECT_TRUE(ServerCredentialsFor("127.0.0.1:1", security).ok());
  security.authority_file = "/some/ca.crt";
  for (const absl::Status& status : {ServerCredentialsFor("127.0.0.1:1", security).status(),
                                     ChannelCredentialsFor("127.0.0.1:1", security).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(status.message(), HasSubstr("leave out --insecure"));
  }
}

TEST(Token, FilesAreChecked) {
  const std::string path = testing::TempDir() + "rocksieve-tokens";
  const auto read = [&](const char* text) {
    std::ofstream(path) << text;
    EXPECT_EQ(chmod(path.c_str(), 0600), 0);
    return ReadTokens(path);
  };
  const auto good = read("# of the night job\n0123456789abcdef\r\n\nfedcba9876543210");
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(*good, (std::vector<std::string>{"0123456789abcdef", "fedcba9876543210"}));
  EXPECT_FALSE(read("").ok());
  EXPECT_FALSE(read("short\n").ok());
  EXPECT_FALSE(read("with spaces in it, long\n").ok());
  EXPECT_FALSE(ReadTokens(path + ".missing").ok());
  std::ofstream(path) << "0123456789abcdef\n";
  for (const mode_t mode : {0640, 0604, 0620}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    const absl::Status refused = ReadTokens(path).status();
    EXPECT_THAT(std::string(refused.message()), HasSubstr("chmod 600 " + path));
  }
}

TEST(Printable, ShowsWhatWouldForgeALineOrDriveATerminalAndWhatIsNotUtf8) {
  for (const std::string text : {"", "a \"quoted\" word, 50 %", "Grüße, 鍵 🔑", "C:\\x41"}) {
    EXPECT_EQ(Printable(text), text);
  }
  EXPECT_EQ(Printable("done\nrocksieve serve: all is well\r\t"),
            "done\\x0arocksieve serve: all is well\\x0d\\x09");
  EXPECT_EQ(Printable("\x1b]0;title\x07\x1b[2J"), "\\x1b]0;title\\x07\\x1b[2J");
  EXPECT_EQ(Printable("ab\xe2\x82"), "ab\\xe2\\x82");  // cut off
  // C1, a line separator, right to left from here on; overlong, a surrogate, beyond Unicode.
  for (const std::string& hidden :
       {std::string("\0\x7f", 2), std::string("\xc2\x9b"), std::string("\xe2\x80\xa8"),
        std::string("\xe2\x80\xae"), std::string("\xff\xfe"), std::string("\xc0\xaf"),
        std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80")}) {
    std::string shown;
    for (const char byte : hidden) shown += absl::StrFormat("\\x%02x", static_cast<uint8_t>(byte));
    EXPECT_EQ(Printable(hidden + "a"), shown + "a");
  }
}

TEST(Printable, IsBoundedAndNeverHasAControlCharacter) {
  EXPECT_EQ(Printable(std::string(5000, 'x')).size(), kMostPrintableBytes + 3);
  EXPECT_EQ(Printable("abc\n", 5), "abc...");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; i++) {
    std::string text(random() % 20, '\0');
    for (char& c : text) c = static_cast<char>(random());
    const std::string printable = Printable(text);
    for (const char c : printable) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    ASSERT_EQ(Printable(printable), printable);
  }
}

TEST(WithoutDirectories, LeavesNamesOfFiles) {
  const std::vector<std::string> known = {"/srv/our db", "some/where", "data"};
  for (const auto& [text, clean] : std::map<std::string, std::string>{
           {"IO error: While open a file: /var/lib/our db/000012.sst: No such file",
            "IO error: While open a file: our db/000012.sst: No such file"},
           {"Corruption: bad block in ../../data/db/000012.sst offset 3",
            "Corruption: bad block in 000012.sst offset 3"},
           {"cannot make a temporary file in /srv/tmp: Permission denied",
            "cannot make a temporary file in tmp: Permission denied"},
           {"(/var/db/CURRENT)", "(CURRENT)"},
           {"/", "a directory"},
           {"IO error: /srv/our db/000012.sst: gone", "IO error: 000012.sst: gone"},
           {"cannot open some/where/CURRENT in /srv/our db", "cannot open CURRENT in a directory"},
           {"no states of its database: data/CURRENT, 'data'.",
            "no states of its database: CURRENT, 'a directory'."}}) {
    EXPECT_EQ(WithoutDirectories(text, known), clean);
  }
  // Expressions and fractions.
  for (const std::string text : {"no join key expression value.json(/id/name)", "3/4 of the keys",
                                 "serve, and/or join", "bytes/s"}) {
    EXPECT_EQ(WithoutDirectories(text), text);
  }
}

// Views: one session each, kept for a while when the session broke, not for ever.

using std::chrono::milliseconds;

std::atomic<int> living_views = 0;

class CountedSource final : public Source {
 public:
  CountedSource() { living_views++; }
  ~CountedSource() override { living_views--; }
  std::unique_ptr<Cursor> Scan(const KeyInterval& interval) override {
    return MemorySource({}).Scan(interval);
  }
  uint64_t EstimateKeys() override { return 0; }
};

absl::StatusOr<View> Open(const ViewRequest& request, const ViewTerms&) {
  if (request.on == "bad") return absl::InvalidArgumentError("no such expression");
  return View{std::make_unique<CountedSource>(), "database", {}};
}

TEST(ViewRegistry, ABrokenSessionFindsItsViewAgain) {
  ViewRegistry registry(Open, {});
  Cancellation cancellation;
  std::string name;
  Source* source = nullptr;
  {
    auto lease = registry.Acquire({}, "", &cancellation);
    ASSERT_TRUE(lease.ok());
    EXPECT_FALSE((*lease)->resumed());
    name = (*lease)->name();
    source = (*lease)->view().source.get();
  }
  EXPECT_EQ(living_views, 1);
  EXPECT_FALSE((*registry.Acquire({"another", ""}, name, &cancellation))->resumed());
  EXPECT_FALSE((*registry.Acquire({}, name + "x", &cancellation))->resumed());
  auto again = registry.Acquire({}, name, &cancellation);
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->resumed());
  EXPECT_EQ((*again)->view().source.get(), source);
}

TEST(ViewRegistry, AFinishedSessionLeavesNothing) {
  ViewRegistry registry(Open, {});
  Cancellation cancellation;
  (*registry.Acquire({}, "", &cancellation))->Finished();
  EXPECT_EQ(living_views, 0);
  EXPECT_TRUE(absl::IsInvalidArgument(registry.Acquire({"", "bad"}, "", &cancellation).status()));
}

TEST(ViewRegistry, KeptViewsAreFewAndExpire) {
  ViewRegistry registry(Open, {.keep = milliseconds(200), .most_kept = 2});
  Cancellation cancellation;
  std::vector<std::string> names;
  for (int i = 0; i < 5; i++) names.push_back((*registry.Acquire({}, "", &cancellation))->name());
  EXPECT_EQ(living_views, 2);
  {
    EXPECT_TRUE((*registry.Acquire({}, names[4], &cancellation))->resumed());
    EXPECT_FALSE((*registry.Acquire({}, names[0], &cancellation))->resumed());
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (living_views > 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(living_views, 0);
}

TEST(ViewRegistry, WhoComesAgainEndsTheSessionThatStillReads) {
  ViewRegistry registry(Open, {});
  Cancellation first, second;
  auto lease = registry.Acquire({}, "", &first);
  const std::string name = (*lease)->name();
  std::thread broken([&] {
    while (first.Check().ok()) std::this_thread::sleep_for(milliseconds(1));
    lease->reset();
  });
  const auto again = registry.Acquire({}, name, &second);
  broken.join();
  ASSERT_TRUE(again.ok());
  EXPECT_TRUE((*again)->resumed());
  EXPECT_TRUE(second.Check().ok());
}

}  // namespace
}  // namespace rocksieve::join
