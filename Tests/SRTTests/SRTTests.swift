// SPDX-License-Identifier: Apache-2.0

import Media
import Networking
import PacketSamples
import TestSupport
import Testing

@testable import SRT

@Suite("SRT outputs and listeners")
struct SRTTests {
    private static func url(_ query: String, mode: String = "caller") throws -> SRTURL {
        try SRTURL("srt://127.0.0.1:9000?mode=\(mode)&\(query)")
    }

    // MARK: Addresses

    @Test("The mode and the local port in an SRT address are parsed")
    func modes() throws {
        #expect(try SRTURL("srt://:9000").mode == .listener)
        #expect(try SRTURL("srt://host:9000").mode == .caller)
        let meeting = try SRTURL("srt://host:9000?mode=rendezvous&localaddr=10.0.0.1")
        #expect(meeting.mode == .rendezvous)
        #expect(meeting.local == HostAddress(literal: "10.0.0.1", port: 9000))
        #expect(try Self.url("localport=9100").local == HostAddress(literal: "0.0.0.0", port: 9100))
        #expect(try Self.url("callers=3", mode: "listener").maximumCallers == 3)
        #expect(try Self.url("latency=1", mode: "listener").maximumCallers == SRTURL.usualCallers)
    }

    @Test(
        "Invalid or contradictory SRT options are refused",
        arguments: [
            "mode=both", "callers=2", "mode=listener&callers=0", "mode=listener&localport=1", "localaddr=host",
            "localport=0", "passphrase=short", "pbkeylen=20", "latncy=200", "mode=listener&callers=1000",
        ])
    func refusals(query: String) {
        #expect(throws: AddressError.self) { try SRTURL("srt://host:9000?\(query)") }
    }

    @Test("Late SRT packets are dropped only if snddropdelay is set, at the age of latency plus delay, at least 1 s")
    func dropAge() throws {
        #expect(try Self.url("latency=120").dropAge(latency: 120) == nil)
        #expect(try Self.url("latency=120&snddropdelay=0").dropAge(latency: 120) == 1000)
        #expect(try Self.url("latency=120&snddropdelay=2000").dropAge(latency: 500) == 2500)
        #expect(try Self.url("snddropdelay=-1").dropAge(latency: 500) == nil)
        #expect(try Self.url("tlpktdrop=0").dropAge(latency: 500) == nil)
    }

    // MARK: Options

    /// Returns a valid value of `option`. If a new option has no value here, the tests do not compile.
    private static func value(of option: SRTOption) -> String {
        switch option {
        case .latency, .rcvlatency, .peerlatency: "300"
        case .passphrase: "ten-letters-or-more"
        case .pbkeylen: "32"
        case .streamid: "#!::r=studio,m=publish"
        case .connectTimeout, .peerIdleTimeout: "4000"
        case .maxbw, .inputbw: "1000000"
        case .oheadbw: "30"
        case .ipttl: "64"
        case .iptos: "184"
        case .mss: "1400"
        case .fc: "30000"
        case .sndbuf, .rcvbuf: "20000000"
        case .payloadSize: "1128"
        case .tlpktdrop, .nakreport, .enforcedEncryption, .ipv6only: "1"
        case .snddropdelay: "500"
        case .linger: "2"
        case .packetfilter: "fec,cols:10,rows:5"
        case .minversion: "1.3.0"
        case .kmrefreshrate: "100000"
        case .kmpreannounce: "4000"
        case .lossmaxttl: "20"
        }
    }

    @Test("libsrt accepts every option that an SRT address may contain", arguments: SRTOption.allCases)
    func options(option: SRTOption) throws {
        let socket = try SRTSocket(
            options: try Self.url("latency=200"), bandwidth: SRTBandwidth(Samples.description, url: Self.url("fc=1")))
        let texts = option.kind == .flag ? ["0", "1", "yes", "off"] : [Self.value(of: option)]
        for text in texts { #expect(socket.apply(try SRTOptionValue(text, of: option), to: option.symbol), "\(text)") }
    }

    @Test("An SRT option that libsrt rejects is a permanent failure")
    func refusedOption() throws {
        let url = try Self.url("packetfilter=nonsense,cols:0")
        do {
            _ = try SRTSocket(options: url, bandwidth: SRTBandwidth(Samples.description, url: url))
            Issue.record("The library took it.")
        } catch {
            #expect(error.kind == .refused)
            #expect(error.reason.contains("packetfilter"))
        }
    }

    // MARK: Stream names

    @Test("An SRT stream ID is parsed as plain text, or as keys after #!::")
    func streamIDs() {
        #expect(SRTStreamID("studio").resource == "studio")
        let id = SRTStreamID("#!::r=live/one,m=publish,u=anna,h=example.org,s=7,t=file,x=1,bad")
        #expect(id.resource == "live/one" && id.user == "anna" && id.host == "example.org" && id.session == "7")
        #expect(id.mode == .publish)
        #expect(!id.isStream)
        #expect(SRTStreamID("#!::").resource.isEmpty)
        #expect(SRTStreamID(String(repeating: "a", count: 2000)).resource.utf8.count == SRTStreamID.maximumBytes)
    }

    @Test("An SRT listener accepts callers that request its stream, and rejects others with a reason")
    func admission() {
        let admission = SRTAdmission(wanted: SRTStreamID("#!::r=one,u=anna"), maximum: 2, keys: StreamKeyGuard())
        #expect(admission.judge("#!::r=one,u=anna,m=request", from: nil) == nil)
        #expect(admission.judge("#!::u=anna,r=one,h=any,t=stream", from: nil) == nil)
        #expect(admission.judge("one", from: nil) == .notFound)
        #expect(admission.judge("", from: nil) == .notFound)
        #expect(admission.judge("#!::r=one,u=anna,m=publish", from: nil) == .badMode)
        #expect(admission.judge("#!::r=one,u=anna,t=file", from: nil) == .notSupported)
        admission.setCallers(2)
        #expect(admission.judge("#!::r=one,u=anna", from: nil) == .overload)
        #expect(admission.rejections.count == 5)
        let open = SRTAdmission(wanted: nil, maximum: 1, keys: StreamKeyGuard())
        #expect(open.judge("anything", from: nil) == nil)
        #expect(open.judge("#!::m=publish", from: nil) == .badMode)
        let plain = SRTAdmission(wanted: SRTStreamID("one"), maximum: 1, keys: StreamKeyGuard())
        #expect(plain.judge("one", from: nil) == nil && plain.judge("#!::r=one", from: nil) == nil)
    }

    @Test("A caller that was accepted, and then disconnected because the output was full, counts as rejected")
    func lateOverload() {
        let admission = SRTAdmission(wanted: nil, maximum: 1, keys: StreamKeyGuard())
        #expect(admission.judge("one", from: nil) == nil && admission.judge("two", from: nil) == nil)
        admission.countOverload()
        #expect(admission.rejections.count == 1 && admission.rejections.last == .overload)
    }

    @Test("A listening SRT output counts wrong stream IDs, and limits the attempts of the network from which they come")
    func guesses() {
        let clock = ManualClock()
        let keys = StreamKeyGuard(clock: clock)
        let admission = SRTAdmission(wanted: SRTStreamID("one"), maximum: 2, keys: keys)
        let (guesser, other) = (IPAddress("192.0.2.1"), IPAddress("192.0.2.2"))
        let answers = (0..<15).map { admission.judge("wrong\($0)", from: guesser) }
        #expect(answers.prefix(11).allSatisfy { $0 == .notFound } && answers.suffix(4).allSatisfy { $0 == .tooMany })
        #expect(keys.wrongKeys == 11 && admission.rejections.count == 15)
        #expect(admission.judge("one", from: guesser) == .tooMany && admission.judge("one", from: other) == nil)
        #expect(admission.takeWarning()?.contains("192.0.2.1") == true && admission.takeWarning() == nil)
        clock.advance(by: .milliseconds(500))
        #expect(admission.judge("one", from: guesser) == nil)
    }

    @Test("An SRT receiver whose handshake is not complete after two seconds counts as one with a wrong passphrase")
    func wrongPassphrase() {
        let clock = ManualClock()
        let keys = StreamKeyGuard(clock: clock)
        let admission = SRTAdmission(wanted: nil, maximum: 2, keys: keys, clock: clock)
        for socket in Int32(1)...3 {
            #expect(admission.judge("", from: IPAddress("192.0.2.1"), on: socket) == nil)
        }
        clock.advance(by: .seconds(2))
        #expect(admission.countFailures { _ in false } == 0)
        clock.advance(by: .milliseconds(1))
        #expect(admission.countFailures { $0 == 2 } == 2 && keys.wrongKeys == 2)
        #expect(admission.countFailures { _ in false } == 0, "each is counted once")
    }

    @Test("A listening SRT output without a stream ID accepts callers from a network that guessed IDs of other streams")
    func openToGuessers() {
        let keys = StreamKeyGuard(clock: ManualClock())
        let guesser = IPAddress("192.0.2.1")
        for _ in 0..<20 { _ = keys.record(from: ClientNetwork(guesser)) }
        let admission = SRTAdmission(wanted: nil, maximum: 2, keys: keys)
        #expect((0..<5).allSatisfy { admission.judge("\($0)", from: guesser) == nil })
    }

    // MARK: Rates

    @Test("The nominal SRT rate is that of the media plus the container's overhead")
    func nominalRate() {
        let media: Int64 = (2_500_000 + 128_000) / 8
        let rate = SRTBandwidth.nominal(Samples.description)
        #expect(rate > media * 104 / 100 && rate < media * 112 / 100)
    }

    @Test("libsrt gets a new input rate if the rate changes by more than a tenth, but never less than the nominal rate")
    func measuredRate() throws {
        var bandwidth = SRTBandwidth(Samples.description, url: try Self.url("latency=800"))
        let nominal = SRTBandwidth.nominal(Samples.description)
        // A second's worth of data may arrive at once, within a quarter of the latency.
        #expect(bandwidth.input == nominal * 6)
        func seconds(_ range: Range<Int64>, bytesInWindow: Int64) -> [Int64] {
            range.compactMap { second in
                for tick in Int64(0)..<5 {
                    bandwidth.count(bytes: Int(bytesInWindow), at: second * 1_000_000 + tick * 200_000)
                }
                return bandwidth.update()
            }
        }
        #expect(seconds(1..<31, bytesInWindow: nominal / 5 * 2).isEmpty)
        let doubled = try #require(seconds(31..<32, bytesInWindow: nominal / 5 * 2).first)
        #expect((doubled - 2 * nominal).magnitude < 20)
        #expect(seconds(32..<62, bytesInWindow: 0).isEmpty)
        #expect(seconds(62..<64, bytesInWindow: 0) == [nominal])
    }

    @Test(
        "If the SRT address sets a bandwidth, the measured rate does not replace it",
        arguments: ["maxbw=5000000", "maxbw=0&oheadbw=9", "inputbw=1"])
    func givenRate(query: String) throws {
        var bandwidth = SRTBandwidth(Samples.description, url: try Self.url(query))
        #expect(!bandwidth.adaptsInput)
        bandwidth.count(bytes: 100_000_000, at: 1_000_000)
        bandwidth.count(bytes: 100_000_000, at: 2_000_000)
        let update4 = bandwidth.update()
        #expect(update4 == nil)
    }

    @Test("If the SRT address sets an overhead, it is kept while the input rate is measured")
    func givenOverhead() throws {
        let bandwidth = SRTBandwidth(Samples.description, url: try Self.url("oheadbw=30"))
        #expect(bandwidth.isLimited && bandwidth.adaptsInput && !bandwidth.adaptsOverhead)
    }

    @Test("The redundancy of an SRT packet filter is computed from its columns and rows")
    func redundancy() {
        #expect(SRTBandwidth.redundancy(nil) == 0)
        #expect(SRTBandwidth.redundancy("fec,cols:10") == 10)
        #expect(SRTBandwidth.redundancy("fec,cols:10,rows:5") == 30)
        #expect(SRTBandwidth.redundancy("fec,cols:10,rows:-5,layout:staircase") == 30)
        #expect(SRTBandwidth.redundancy("fec,cols:0,rows:0") == 0)
    }

    @Test("SRT's flow window and send buffer grow with the latency if the defaults are too small for it")
    func buffers() throws {
        let small = SRTBandwidth(Samples.description, url: try Self.url("latency=200"))
        #expect(small.flowWindow == nil && small.sendBuffer == nil)
        let large = SRTBandwidth(Samples.description, url: try Self.url("latency=60000"))
        let seconds: Int64 = 61
        #expect(try #require(large.sendBuffer) > SRTBandwidth.nominal(Samples.description) * seconds)
        #expect(large.flowWindow == nil)  // 2.6 Mbit/s for a minute are 15000 packets
    }

    // MARK: Pacing

    @Test("The SRT packets of a frame are spread evenly over the requested part of the frame's duration")
    func spread() {
        var pace = SRTPace()
        pace.begin(at: 1000, spread: 26_000)
        let times = (0..<13).map { pace.next(at: 1000, remaining: 13 - $0) }
        #expect(times == (0..<13).map { 1000 + Int64($0) * 2000 })
    }

    @Test("SRT packets of a backlog are sent at once, and send times never decrease")
    func backlog() {
        var pace = SRTPace()
        pace.begin(at: 1000, spread: 20_000)
        let first = (0..<10).map { pace.next(at: 1000, remaining: 10 - $0) }
        pace.begin(at: 5000, spread: 0)
        let second = (0..<10).map { pace.next(at: 5000, remaining: 10 - $0) }
        pace.begin(at: 6000, spread: 20_000)
        let third = (0..<10).map { pace.next(at: 6000, remaining: 10 - $0) }
        let all = first + second + third
        #expect(zip(all, all.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(Set(second).count == 1)
        #expect((third.last ?? .max) <= 26_000)
    }

    // MARK: Numbers

    private func statistics(roundTrip: Double, sent: Int64, rate: Double, bandwidth: Double = 10) -> SRTStatistics {
        var statistics = SRTStatistics()
        statistics.totals.packetsSent = sent
        statistics.totals.packetsDropped = 1
        statistics.moment = SRTStatistics.Moment(
            roundTripMilliseconds: roundTrip, sendRate: rate, bandwidth: bandwidth, maximumBandwidth: 9,
            packetsInFlight: Int(sent), flowWindow: 100 - Int(sent), sendBufferMilliseconds: 3, sendBufferFreeBytes: 4,
            latencyMilliseconds: 200)
        return statistics
    }

    @Test("The status adds up all SRT receivers' counters, and has the worst round trip time and bandwidth")
    func mergedNumbers() throws {
        let merged = SRTStatistics.merged([
            statistics(roundTrip: 10, sent: 5, rate: 2, bandwidth: 50),
            statistics(roundTrip: 80, sent: 6, rate: 1, bandwidth: 20),
        ])
        let moment = try #require(merged.moment)
        #expect(moment.roundTripMilliseconds == 80 && moment.bandwidth == 20 && moment.sendRate == 3)
        #expect(merged.totals.packetsSent == 11 && merged.totals.packetsDropped == 2)
        #expect(moment.packetsInFlight == 6 && moment.flowWindow == 94)
        #expect(moment.inputBandwidth == nil)
    }

    @Test("SRT counters never decrease when a receiver disconnects, and its current values are removed")
    func departedNumbers() {
        var past = SRTStatistics.Totals()
        past.add(statistics(roundTrip: 10, sent: 5, rate: 2).totals)
        let staying = statistics(roundTrip: 80, sent: 6, rate: 1)
        let merged = SRTStatistics.merged([staying], past: past)
        #expect(merged.totals.packetsSent == 11 && merged.totals.packetsDropped == 2)
        #expect(merged.moment == staying.moment)
        #expect(SRTStatistics.merged([], past: past).totals == past)
        #expect(SRTStatistics.merged([], past: past).moment == nil)
    }

    // MARK: Closing

    @Test("If closing SRT sockets never returns, SRT still works: one new socket a minute is allowed")
    func hungCloses() {
        var closings = SRTClosings()
        let minute = SRTClosings.interval
        for index in 0..<SRTClosings.maximum {
            #expect(closings.reserve(at: .zero + .nanoseconds(index)) != nil)
            closings.began()
        }
        #expect(closings.reserve(at: 100) == nil)
        #expect(closings.reserve(at: 100 + minute) != nil)
        #expect(closings.reserve(at: 101 + minute) == nil)
        #expect(closings.reserve(at: 100 + minute * 2) != nil)
        closings.ended()
        #expect(closings.reserve(at: 101 + minute * 2) != nil)
    }

    @Test(
        "Two outputs cannot reserve the same SRT socket, and an unused reservation can be returned")
    func roomIsTaken() throws {
        var closings = SRTClosings()
        for _ in 0..<SRTClosings.maximum { closings.began() }
        let unused = closings.reserve(at: 0)
        closings.giveBack(try #require(unused))
        let taken = closings.reserve(at: 0)
        #expect(closings.reserve(at: 0) == nil)
        let later = MonotonicInstant.zero + SRTClosings.interval
        #expect(closings.reserve(at: later) != nil)
        closings.giveBack(try #require(taken))
        #expect(closings.reserve(at: later) == nil, "what somebody else took since is not given back")
    }
}
