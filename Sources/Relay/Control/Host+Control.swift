// SPDX-License-Identifier: Apache-2.0

internal import Control

extension Host: ControlledHost {
    var channels: [String] { controls.map(\.name) }

    func channel(_ name: String) -> (any ControlledChannel)? { controls.first { $0.name == name } }

    func check(_ address: String) -> AddressCheck { OutputCheck(resources).check(address) }

    func reload() throws(ControlFailure) -> Int {
        do throws(ReloadFailure) {
            return try reloadFile()
        } catch {
            switch error {
            case .none: throw ControlFailure(.conflict, "relay was started with flags, and has no file to read again.")
            case .ending: throw ControlFailure(.unavailable, "relay is about to end.")
            case .refused(let lines):
                throw ControlFailure(
                    .unusable, "The configuration file is not applied: \(lines.first ?? "")", errors: lines)
            }
        }
    }
}

/// Why a configuration file was not applied.
enum ReloadFailure: Error {
    /// There is none.
    case none
    /// The process ends.
    case ending
    /// What is wrong with it, a line each.
    case refused([String])
}
