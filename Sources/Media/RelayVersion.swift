// SPDX-License-Identifier: Apache-2.0

/// The version that `--version` prints and recordings store.
package enum RelayVersion {
    package static let text = "0.1.0"
}
