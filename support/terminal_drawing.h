// SPDX-License-Identifier: Apache-2.0
// A chart for people at a terminal.
#pragma once

#include <cstddef>
#include <string>

#include "support/chart.h"

namespace rocksieve {

// ASCII characters, at most `width` columns; one letter for each series, explained below.
std::string TerminalDrawing(const Chart& chart, size_t width);

}  // namespace rocksieve
