// SPDX-License-Identifier: Apache-2.0

import Foundation
import Media
import TestSupport

@testable import Channel
@testable import Relay

/// Runs a channel in this process while `changes` happen to it, and returns how it ended. If `changes` throws, the
/// channel is ended.
func runChannel(
    _ configuration: ChannelConfiguration, _ changes: @escaping @Sendable (Channel) async throws -> Void
) async throws -> ChannelEnd {
    let channel = try Channel(configuration, logger: quiet)
    async let end = withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: channel.run()) }.start()
    }
    do {
        try await changes(channel)
    } catch {
        channel.end()
        throw error
    }
    return await end
}
