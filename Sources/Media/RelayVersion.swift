// SPDX-License-Identifier: Apache-2.0

/// The version of relay, which `--version`, the API and diagnostics report, and which recordings and exports store.
package enum RelayVersion {
    package static let text = "0.1.0"
}
