// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

extension Serial {
    /// SRT outputs in all modes, with srt-live-transmit as the receiver.
    @Suite("SRT outputs")
    struct SRTTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        private func start(_ seconds: Int, _ arguments: [String]) throws -> RelayProcess {
            try RelayProcess(Shape.small + ["--duration", "\(seconds)s"] + arguments)
        }

        /// Starts a program of 4 Mbit/s, which soon fills the buffers of a connection.
        private func startHeavy(_ seconds: Int, _ arguments: [String]) async throws -> RelayProcess {
            let clip = try await Clip.noisy(seconds: seconds, in: directory)
            return try RelayProcess(
                ["--input", clip, "--preset", "ultrafast", "--video-bitrate", "4M", "--duration", "\(seconds)s"]
                    + arguments)
        }

        private func listens(at port: Int) async throws {
            try await eventually("relay listens", within: .seconds(5)) { Ports.isUsed(port, by: "udp") }
        }

        /// Expects every frame from a keyframe to the program's last frame, and no missing TS packet.
        private func checkWhole(_ path: String, last: UInt32, atLeast count: Int) async throws {
            #expect(try Continuity.errors(path).isEmpty)
            #expect(try await Probe.firstFlags(path).hasPrefix("K"))
            #expect(try await Probe.complaints(path).isEmpty)
            let frames = try await DecodedFrames(path)
            #expect(frames.breaks.isEmpty)
            #expect(frames.span?.upperBound == last)
            #expect(frames.counters.count >= count)
        }

        /// Expects that each received frame can be decoded, and that the last frame was received. Other frames may be
        /// missing.
        private func checkDecodable(_ path: String, last: UInt32) async throws {
            #expect(try Continuity.errors(path).isEmpty)
            #expect(try await Probe.complaints(path).isEmpty)
            let numbers = try await DecodedFrames(path).counters.compactMap(\.self)
            #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
            #expect(numbers.last == last)
        }

        // MARK: Listening

        @Test("Several receivers connect to one SRT output, and a frozen receiver does not affect the others")
        func severalCallers() async throws {
            let port = try Ports.free()
            let relay = try await startHeavy(14, ["--srt", "srt://127.0.0.1:\(port)?mode=listener&latency=200"])
            try await listens(at: port)
            let healthy = try await SRTReceiver(.caller, port: port)
            let frozen = try await SRTReceiver(.caller, port: port)
            defer { frozen.thaw() }
            try await healthy.hasReceived(bytes: 500_000, within: .seconds(10))
            try await frozen.hasReceived(bytes: 100_000, within: .seconds(10))
            frozen.freeze()
            let before = fileSize(healthy.file)
            try await healthy.hasReceived(bytes: before + 1_500_000, within: .seconds(10))
            frozen.thaw()
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await healthy.recording(), last: 419, atLeast: 300)
            try await checkDecodable(try await frozen.recording(), last: 419)
        }

        @Test("An SRT receiver that reconnects begins at a keyframe, and the port stays open in between")
        func callsAgain() async throws {
            let port = try Ports.free()
            let relay = try start(12, ["--srt", "srt://127.0.0.1:\(port)?mode=listener&latency=200"])
            try await listens(at: port)
            let first = try await SRTReceiver(.caller, port: port)
            try await first.hasReceived(bytes: 50_000, within: .seconds(10))
            try await first.kill()
            #expect(Ports.isUsed(port, by: "udp"))
            let second = try await SRTReceiver(.caller, port: port)
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("reconnects"), "\(result.log)")
            try await checkWhole(try await second.recording(), last: 359, atLeast: 90)
        }

        @Test("An SRT output that waits for a receiver does not delay the end of the program")
        func nobodyCalls() async throws {
            let port = try Ports.free()
            let address = "srt://127.0.0.1:\(port)?mode=listener"
            let relay = try start(3, ["--srt", address, "--record", directory.file("r")])
            try await listens(at: port)
            // If the output waited for its receiver, relay would end later than this, at the deadline of the outputs.
            let result = try await relay.finished(within: .seconds(10))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("did not end cleanly"), "\(result.log)")
        }

        @Test("An SRT receiver that requests another stream, or exceeds the limit of receivers, is rejected")
        func streamIDs() async throws {
            let port = try Ports.free()
            // How soon the other caller is rejected depends on the machine, so the receiver calls only after that.
            let relay = try start(
                14, ["--srt", "srt://127.0.0.1:\(port)?mode=listener&latency=200&streamid=one&callers=1"])
            try await listens(at: port)
            let stranger = try await SRTReceiver(.caller, port: port, options: "streamid=two")
            try await stranger.isSentAway(within: .seconds(15))
            let receiver = try await SRTReceiver(.caller, port: port, options: "streamid=#!::r=one,m=request")
            try await receiver.hasReceived(bytes: 10_000, within: .seconds(5))
            let second = try await SRTReceiver(.caller, port: port, options: "streamid=one")
            try await second.isSentAway(within: .seconds(15))
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(result.log.contains("1404") && result.log.contains("1402"), "\(result.log)")
            #expect(fileSize(stranger.file) == 0 && fileSize(second.file) == 0)
            try await checkWhole(try await receiver.recording(), last: 419, atLeast: 90)
        }

        @Test("SRT receivers that connect late get every frame from their first frame on")
        func lateCallers() async throws {
            // Each early caller has an output of its own. Packets that an output holds until its first caller connects
            // do not count as congestion.
            let moments = [0, 1500, 2500, 4000]
            let ports = try moments.map { _ in try Ports.free() }
            let outputs = ports.flatMap { ["--srt", "srt://127.0.0.1:\($0)?mode=listener&latency=120"] }
            let relay = try RelayProcess(
                Shape.size + ["--fps", "25", "--gop", "2s", "--duration", "12s"] + outputs)
            try await listens(at: ports[3])
            let begin = ContinuousClock.now
            var receivers: [SRTReceiver] = []
            for (moment, port) in zip(moments, ports) {
                // The early and late receivers must call at exactly these times.
                try await Task.sleep(until: begin + .milliseconds(moment))
                receivers.append(try await SRTReceiver(.caller, port: port, latency: 120))
                // This receiver also calls the first output, which has a receiver already.
                if moment > 0 { receivers.append(try await SRTReceiver(.caller, port: ports[0], latency: 120)) }
            }
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            let summary = result.log.split(separator: "\n").last { $0.contains("done: ") } ?? ""
            #expect(summary.contains("srt-1") && !summary.contains("dropped"), "\(result.log)")
            for receiver in receivers { try await checkWhole(try await receiver.recording(), last: 299, atLeast: 100) }
        }

        // MARK: Other ways to connect

        @Test("An SRT output in rendezvous mode delivers every frame to a receiver in rendezvous mode")
        func rendezvous() async throws {
            let (ours, theirs) = (try Ports.free(), try Ports.free())
            let receiver = try await SRTReceiver(.rendezvous, port: ours, options: "port=\(theirs)")
            let url = "srt://127.0.0.1:\(theirs)?mode=rendezvous&latency=200&localaddr=127.0.0.1&localport=\(ours)"
            let relay = try start(6, ["--srt", url])
            let result = try await relay.finished(within: .seconds(30))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await receiver.recording(), last: 179, atLeast: 60)
        }

        @Test("An SRT stream with 256-bit AES arrives completely; a wrong passphrase is rejected without being shown")
        func passphrases() async throws {
            let receiver = try await SRTReceiver(options: "passphrase=correct-horse")
            let right = receiver.url(options: "passphrase=correct-horse&pbkeylen=32")
            let result = try await RelayProcess.run(Shape.small + ["--duration", "4s", "--srt", right])
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await receiver.recording(), last: 119, atLeast: 120)

            let other = try await SRTReceiver(options: "passphrase=correct-horse")
            let wrong = other.url(options: "passphrase=wrong-battery&pbkeylen=32")
            let relay = try start(6, ["--srt", wrong])
            try await relay.says("cause=refused", within: .seconds(5))
            let log = try await relay.end(by: SIGTERM, within: .seconds(10)).log
            #expect(!log.contains("battery"), "\(log)")
            #expect(fileSize(other.file) == 0)
        }

        @Test("An SRT output negotiates forward error correction with its receiver")
        func packetFilter() async throws {
            let options = "packetfilter=fec,cols:10,rows:5"
            let receiver = try await SRTReceiver(latency: 400, options: options)
            let result = try await RelayProcess.run(
                Shape.small + ["--duration", "4s", "--srt", receiver.url(options: options)])
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await receiver.recording(), last: 119, atLeast: 120)
        }

        // MARK: Faults

        @Test(
            "With an SRT latency of 400 ms no frame is missing although a tenth of all packets is lost",
            .needs(PacketLoss.isPossible, "this needs root and iptables with its module statistic"))
        func loss() async throws {
            let receiver = try await SRTReceiver(latency: 400)
            let relay = try await startHeavy(15, ["--srt", receiver.url()])
            // Packets are lost only from now on. Otherwise the test would also test libsrt's handshake, which fails in
            // one of ten runs at this loss.
            try await receiver.hasReceived(bytes: 10_000, within: .seconds(10))
            let loss = try PacketLoss(port: receiver.port, probability: 0.1)
            let result = try await relay.finished(within: .seconds(40))
            withExtendedLifetime(loss) {}
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await receiver.recording(), last: 449, atLeast: 450)
        }

        @Test(
            "After short and long network outages, SRT receivers in listener and caller mode get all later frames",
            .needs(PacketLoss.isPossible, "this needs root and iptables with its module statistic"))
        func outages() async throws {
            let called = try await SRTReceiver()
            let port = try Ports.free()
            let listening = "srt://127.0.0.1:\(port)?mode=listener&latency=200"
            let relay = try start(13, ["--srt", called.url(), "--srt", listening])
            try await relay.says("waiting for a caller at srt://", within: .seconds(10))
            let calling = try await SRTReceiver(.caller, port: port)
            // The test needs outages of these lengths.
            for outage in [Duration.milliseconds(300), .seconds(2)] {
                for receiver in [called, calling] {
                    try await receiver.hasReceived(bytes: fileSize(receiver.file) + 20_000, within: .seconds(10))
                }
                let cuts = try [called.port, port].map { try PacketLoss(port: $0, probability: 1) }
                try await Task.sleep(for: outage)
                withExtendedLifetime(cuts) {}
            }
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("did not end cleanly") && !result.log.contains("reconnects"), "\(result.log)")
            for receiver in [called, calling] {
                let recording = try await receiver.recording()
                let times = try await Probe.packetTicks(recording, "v:0").map(\.pts)
                #expect(Set(times).count == times.count && times.count > 200, "\(times.count)")
                // From a loss to the next keyframe, frames are decoded from wrong references, so their numbers can be
                // wrong, too. The program's GOP lasts two seconds.
                let last = try await DecodedFrames(recording).counters.suffix(60)
                #expect(DecodedFrames.breaks(in: Array(last)).isEmpty && last.last == 389, "\(last)")
            }
        }

        @Test("An SRT receiver that is frozen for 3 s keeps its connection, and its stream stays decodable")
        func frozen() async throws {
            let receiver = try await SRTReceiver()
            defer { receiver.thaw() }
            let relay = try await startHeavy(14, ["--srt", receiver.url()])
            try await receiver.hasReceived(bytes: 500_000, within: .seconds(10))
            receiver.freeze()
            // The test needs a fault of this length: after 5 s of silence, libsrt gives a connection up.
            try await Task.sleep(for: .seconds(3))
            receiver.thaw()
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            #expect(!result.log.contains("libsrt dropped"), "\(result.log)")
            #expect(!result.log.contains("reconnects"), "\(result.log)")
            try await checkDecodable(try await receiver.recording(), last: 419)
        }

        @Test("An SRT receiver that was killed and restarted gets the program again from a keyframe on")
        func killed() async throws {
            let receiver = try await SRTReceiver()
            let port = receiver.port
            let relay = try start(20, ["--srt", receiver.url()])
            try await receiver.hasReceived(bytes: 50_000, within: .seconds(10))
            try await receiver.kill()
            try await relay.says("lost", within: .seconds(10))
            let back = try await SRTReceiver(port: port)
            try await back.hasReceived(bytes: 50_000, within: .seconds(10))
            let result = try await relay.finished(within: .seconds(40))
            #expect(result.ending == .exited(0), "\(result.log)")
            try await checkWhole(try await back.recording(), last: 599, atLeast: 60)
        }
    }
}
