// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A port whose connections the kernel accepts, and that never answers.
final class SilentServer: Sendable {
    let port: Int
    private let descriptor: Int32

    init() throws {
        port = try Ports.free()
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard bound == 0, listen(descriptor, 64) == 0 else { throw HarnessFailure("Nothing can listen at \(port).") }
    }

    deinit { close(descriptor) }
}
