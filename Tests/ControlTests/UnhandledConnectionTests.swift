// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import Control

@Suite("Connections to a server that is stopping")
struct UnhandledConnectionTests {
    @Test("A connection that arrives while the HTTP server stops does not crash the process")
    func unhandled() throws {
        let channel = EmbeddedChannel()
        do {
            let connection = try pipeline.setup(channel: channel, logger: Logger(label: "test")).wait()
            #expect(connection.channel === channel)
        }
        // When the channel becomes active, the pipeline releases its own reference to the writer.
        try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        #expect(channel.isActive)
        // A testing channel reports data that its handlers still hold. Nothing was read or written here, so there is
        // none.
        #expect(try channel.finish().isClean)
        #expect(!channel.isActive)
    }

    private var pipeline: ControlChannel {
        ControlChannel(base: HTTP1Channel(responder: { _, _, _ in }), identity: nil)
    }
}
