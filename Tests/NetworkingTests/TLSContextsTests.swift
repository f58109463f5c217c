// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("The TLS settings of outgoing connections")
struct TLSContextsTests {
    private final class Counts: Sendable {
        let begun = Atomic<Int>(0)
        let read = Atomic<Int>(0)
        let done = Atomic<Int>(0)
    }

    private static func settings() throws(OutputFailure) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.certificateVerification = .none
        do {
            return try NIOSSLContext(configuration: configuration)
        } catch {
            throw OutputFailure(.refused, step: "tls", reason: "\(error)")
        }
    }

    @Test("Connections that begin at the same moment read the authorities once")
    func together() throws {
        let counts = Counts()
        let contexts = TLSContexts { (_, _) throws(OutputFailure) -> NIOSSLContext in
            counts.read.add(1, ordering: .relaxed)
            try? eventually("all connections have begun") { counts.begun.load(ordering: .relaxed) == 4 }
            return try Self.settings()
        }
        for _ in 0..<4 {
            Thread {
                counts.begun.add(1, ordering: .relaxed)
                _ = try? contexts.context(for: .insecure, isAddress: false)
                counts.done.add(1, ordering: .relaxed)
            }.start()
        }
        try eventually("all connections have their settings") { counts.done.load(ordering: .relaxed) == 4 }
        let read = counts.read.load(ordering: .relaxed)
        #expect(read == 1)
    }
}
