// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Media
internal import Synchronization

/// Hands packets over from the encoder's thread to another thread, which publishes them. The other thread is necessary
/// because publishing can start threads, for example through Dispatch. Such threads inherit the priority of the
/// publishing thread, and the priority of the encoder's thread is low.
final class PacketHandover: PacketSink {
    private struct State {
        var packets: [EncodedPacket] = []
        var isOver = false
    }

    private let state = Mutex(State())
    private let dataAvailable = DispatchSemaphore(value: 0)

    func publish(_ packet: EncodedPacket) {
        state.withLock { $0.packets.append(packet) }
        dataAvailable.signal()
    }

    func finish() {
        state.withLock { $0.isOver = true }
        dataAvailable.signal()
    }

    /// Publishes the packets to `sink`. Calls `afterEach` after each batch of packets, which can be empty. Returns
    /// after the last packet, when it has also finished `sink`.
    func run(into sink: any PacketSink, afterEach work: () -> Void) {
        while true {
            dataAvailable.wait()
            let (packets, isOver) = state.withLock { state in
                defer { state.packets.removeAll(keepingCapacity: true) }
                return (state.packets, state.isOver)
            }
            for packet in packets { sink.publish(packet) }
            work()
            guard isOver else { continue }
            sink.finish()
            return
        }
    }
}
