// SPDX-License-Identifier: Apache-2.0
// NativeLibrary.find(): which RocksDB a class of org.rocksdb is of. A JVM may have several, one for
// each class loader.
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <string.h>

#include "plugin/loader/loaded_files.h"

namespace {

jobject Throw(JNIEnv* env, const char* what) {
  env->ThrowNew(env->FindClass("java/lang/UnsupportedOperationException"), what);
  return nullptr;
}

}  // namespace

// `filter` is the handle of a Filter of RocksJava, the address of a std::shared_ptr to a policy of
// RocksDB's own. {byte[] path of its library, String release, String series, Boolean whether its
// std::string is that from before GCC 5}.
extern "C" JNIEXPORT jobject JNICALL Java_org_rocksieve_NativeLibrary_find(JNIEnv* env, jclass,
                                                                           jlong filter) {
  using namespace rocksieve::loader;
  // A std::shared_ptr begins with the address of the policy, and the policy with that of its
  // virtual functions, which lie in the library that has its class.
  void*** const policy = *reinterpret_cast<void****>(filter);
  const link_map* const map = MapOf(*policy);
  void* const library = HandleOf(map);
  if (library == nullptr) return Throw(env, "rocksieve: RocksDB's policies belong to no library");
  void* const today = OwnSymbol(library, kVersion);
  void* const old = OwnSymbol(library, kVersionOfOldStrings);
  dlclose(library);  // the caller's class has it loaded
  if (today == nullptr && old == nullptr) {
    return Throw(env,
                 "rocksieve: the RocksDB of this JVM shows none of its symbols to others, so that "
                 "rocksieve cannot be loaded beside it");
  }
  const Release release = ReleaseOf(today != nullptr ? today : old, today == nullptr);
  if (const char* const why = WhyRefused(release)) {
    char sentence[256];
    snprintf(sentence, sizeof(sentence), "rocksieve: RocksDB is %s, %s; no rocksieve fits it",
             release.text, why);
    return Throw(env, sentence);
  }

  const jsize length = static_cast<jsize>(strlen(map->l_name));
  const jbyteArray path = env->NewByteArray(length);
  const jobjectArray found =
      env->NewObjectArray(4, env->FindClass("java/lang/Object"), /*initialElement=*/nullptr);
  if (path == nullptr || found == nullptr) return nullptr;  // Java throws OutOfMemoryError
  env->SetByteArrayRegion(path, 0, length, reinterpret_cast<const jbyte*>(map->l_name));
  env->SetObjectArrayElement(found, 0, path);
  env->SetObjectArrayElement(found, 1, env->NewStringUTF(release.text));
  env->SetObjectArrayElement(found, 2, env->NewStringUTF(release.series));
  env->SetObjectArrayElement(found, 3, today != nullptr ? nullptr : env->NewStringUTF("old"));
  return found;
}
