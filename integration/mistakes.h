// Specs that cannot be honoured, and what the error about each must say.
#pragma once

#include "integration/database.h"

namespace rocksieve {

struct Mistake {
  std::string spec;
  std::string offending;  // what the message must quote
};

inline const std::vector<Mistake>& Mistakes() {
  static const std::vector<Mistake> mistakes = {
      {"rocksieve", "\"rocksieve\""},
      {"rocksieve.", "\"\""},
      {"rocksieve.bloom", "\"\""},
      {"rocksieve.bloom:", "\"\""},
      {"rocksieve:10", "\"rocksieve:10\""},
      {"rocksieve.:10", "\"\""},
      {"rocksieve.blom:10", "\"blom\""},
      {"rocksieve.Bloom:10", "\"Bloom\""},
      {"rocksieve.bloomfilter:10", "\"bloomfilter\""},
      {"rocksieve.bloom.cuckoo:10", "\"bloom.cuckoo\""},
      {"rocksieve_bloom:10", "\"rocksieve_bloom:10\""},
      {"rocksieve..bloom:10", "\".bloom\""},
      {"rocksieve.10", "\"10\""},
      {"rocksieve.bloom::10", "\"\""},
      {"rocksieve.bloom:10:", "\"\""},
      {"rocksieve.bloom:10::salted", "\"\""},
      {"rocksieve.bloom:10:salted:", "\"\""},
      {"rocksieve.bloom:10:salt", "\"salt\""},
      {"rocksieve.bloom:10:Salted", "\"Salted\""},
      {"rocksieve.bloom:10:salted:salted", "\"salted\" is there twice"},
      {"rocksieve.bloom:salted:10", "\"salted\""},
      {"rocksieve.bloom:10:false", "\"false\""},
      {"rocksieve.bloom:0", "\"0\""},
      {"rocksieve.bloom:-1", "\"-1\""},
      {"rocksieve.bloom:+10", "\"+10\""},
      {"rocksieve.bloom:0.5", "\"0.5\""},
      {"rocksieve.bloom:65", "\"65\""},
      {"rocksieve.cuckoo:2", "\"2\""},
      {"rocksieve.cuckoo:65", "\"65\""},
      {"rocksieve.bloom:nan", "\"nan\""},
      {"rocksieve.bloom:inf", "\"inf\""},
      {"rocksieve.bloom:1e1", "\"1e1\""},
      {"rocksieve.bloom:0x10", "\"0x10\""},
      {"rocksieve.bloom:ten", "\"ten\""},
      {"rocksieve.bloom:1.2.3", "\"1.2.3\""},
      {"rocksieve.bloom:1,5", "\"1,5\""},
      {"rocksieve.bloom:.", "\".\""},
      {"rocksieve.bloom:0%", "\"0%\""},
      {"rocksieve.bloom:60%", "\"60%\""},
      {"rocksieve.bloom:0.00001%", "\"0.00001%\""},
      {"rocksieve.bloom:%", "\"%\""},
      {"rocksieve.bloom:1%%", "\"1%%\""},
      {"rocksieve.bloom: 10", "\" 10\""},
      {"rocksieve.bloom:10 :salted", "\"10 \""},
      {"rocksieve.bloom:1 0", "\"1 0\""},
      {"rocksieve. bloom:10", "\" bloom\""},
      {"rocksieve .bloom:10", "\"rocksieve .bloom:10\""},
      {"rocksieve.bloom:" + std::string(5000, '9'), "\"9999999999"},
      {"rocksieve." + std::string(5000, 'b') + ":10", "\"bbbbbbbbbb"},
      {"rocksieve.bloom:10:" + std::string(5000, 's'), "\"ssssssssss"},
  };
  return mistakes;
}

// An error that helps: what was wrong, what is allowed, and an example.
inline void ExpectHelps(const rocksdb::Status& status, const Mistake& mistake, const char* way) {
  SCOPED_TRACE(std::string(way) + ": " + mistake.spec.substr(0, 60));
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  const std::string text = status.ToString();
  EXPECT_NE(text.find(mistake.offending), std::string::npos) << text;
  EXPECT_NE(text.find("for example rocksieve."), std::string::npos) << text;
  EXPECT_LT(text.size(), 600u) << text;
}

}  // namespace rocksieve
