// SPDX-License-Identifier: Apache-2.0
// RocksieveFilter.newPolicy(): a policy as RocksJava holds them.
#include <jni.h>

#include <exception>
#include <memory>
#include <string>

#include <rocksieve/filter_policy.h>

namespace {

std::string TextOf(JNIEnv* env, jstring text) {
  const char* const utf8 = env->GetStringUTFChars(text, /*isCopy=*/nullptr);
  if (utf8 == nullptr) return "";
  const std::string copy = utf8;
  env->ReleaseStringUTFChars(text, utf8);
  return copy;
}

}  // namespace

// The address of a std::shared_ptr<const FilterPolicy>, which Filter.disposeInternal() deletes.
extern "C" JNIEXPORT jlong JNICALL Java_org_rocksieve_RocksieveFilter_newPolicy(JNIEnv* env, jclass,
                                                                               jstring spec) {
  std::string problem;
  try {
    const std::string text = TextOf(env, spec);
    if (env->ExceptionCheck()) return 0;  // OutOfMemoryError
    auto policy = std::make_unique<std::shared_ptr<const rocksdb::FilterPolicy>>();
    const rocksdb::Status status = rocksieve::NewFilterPolicy(text, policy.get());
    if (status.ok()) return reinterpret_cast<jlong>(policy.release());
    problem = status.getState() != nullptr ? status.getState() : status.ToString();
  } catch (const std::exception& exception) {
    problem = exception.what();
  }
  env->ThrowNew(env->FindClass("java/lang/IllegalArgumentException"), problem.c_str());
  return 0;
}
