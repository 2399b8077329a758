// What `doctor` prints.
#pragma once

#include <string>

#include "tools/doctor/facts.h"
#include "tools/doctor/finding.h"

namespace rocksieve::tools {

std::string DoctorText(const Facts& facts, const Findings& findings);

// One document. Units are in the names, and the ids of findings never change.
std::string DoctorJson(const Facts& facts, const Findings& findings);

}  // namespace rocksieve::tools
