// SPDX-License-Identifier: Apache-2.0
#include "CPage.h"

// C23, which the Swift toolchain's own compiler has; the files stand where the compiler was told to look.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char openapi[] = {
#embed "openapi.json"
};

static const struct relay_asset assets[] = {
    {"v1/openapi.json", "application/json", openapi, sizeof openapi},
};

const struct relay_asset *relay_assets(size_t *count) {
    *count = sizeof assets / sizeof assets[0];
    return assets;
}
