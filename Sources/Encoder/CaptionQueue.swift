// SPDX-License-Identifier: Apache-2.0

/// Queues closed captions for coded frames, as user data messages of ATSC A/53 (part 4, 6.2.3).
///
/// A message has up to 31 runs of 3 bytes. If there are more runs, because frames were skipped, the others go with the
/// next frames.
struct CaptionQueue {
    /// `user_data_registered_itu_t_t35` (ITU-T H.264, table in D.1).
    static let payloadType: Int32 = 4
    private static let longestMessage = 31 * 3
    /// Limit for the queue: some seconds of captions at 60 frames per second. Older captions are dropped.
    private static let limit = 100 * longestMessage

    private var waiting: [UInt8] = []

    /// The message for the next frame, whose own captions `data` are queued first; nil if the queue is empty.
    mutating func message(adding data: [UInt8]) -> [UInt8]? {
        waiting += data
        if waiting.count > Self.limit { waiting.removeFirst(waiting.count - Self.limit) }
        let now = waiting.prefix(Self.longestMessage)
        guard !now.isEmpty else { return nil }
        defer { waiting.removeFirst(now.count) }
        // Country United States, provider ATSC, "GA94", type `cc_data`, and the flag that the captions must be
        // processed.
        let head: [UInt8] = [0xB5, 0x00, 0x31, 0x47, 0x41, 0x39, 0x34, 0x03, 0x40 | UInt8(now.count / 3), 0xFF]
        return head + now + [0xFF]
    }
}
