// Prints what rocksieve::NewFilterPolicy(SPEC) returns, and the name of the policy if there is one.
#include <cstdio>
#include <memory>

#include <rocksieve/filter_policy.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  const rocksdb::Status status = rocksieve::NewFilterPolicy(argv[1], &policy);
  std::printf("%s\n", status.ToString().c_str());
  std::printf("policy: %s\n", policy ? policy->Name() : "none");
}
