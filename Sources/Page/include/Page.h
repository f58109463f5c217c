// SPDX-License-Identifier: Apache-2.0
#ifndef RELAY_PAGE_H
#define RELAY_PAGE_H

#include <stddef.h>

// A file that the HTTP server serves. It is compiled into the executable, so that only one file must be installed.
struct relay_asset {
    const char *path;          // the path under which it is requested, without the leading slash
    const char *type;          // the media type
    const unsigned char *bytes;
    size_t count;
};

// Returns all files; `count` is set to their number.
const struct relay_asset *relay_assets(size_t *count);

#endif
