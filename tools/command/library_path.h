// Where the plugin is, for those who are told to preload it.
#pragma once

#include <string>

namespace rocksieve::tools {

// The path of the librocksieve.so in this process; its bare name if the system does not tell.
std::string PluginLibraryPath();

}  // namespace rocksieve::tools
