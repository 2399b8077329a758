// SPDX-License-Identifier: Apache-2.0
// How the page looks: light and dark, on a telephone, printed.
#pragma once

namespace rocksieve::tools {

// A style sheet. Of a page of at most 1,000 pixels; nothing is wider than the screen but what
// scrolls by itself.
extern const char kStyle[];

}  // namespace rocksieve::tools
