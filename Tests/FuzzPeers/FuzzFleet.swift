// SPDX-License-Identifier: Apache-2.0

import Fleet
import Media

/// How the fuzzed fleet is stored in etcd. The bytes of a channel's description say what it needs.
private let layout = EtcdLayout(prefix: "/relay") { bytes in
    guard let first = bytes.first else { return nil }
    return ChannelDemand(
        needs: first & 1 == 0 ? [] : ["gpu"], prefers: first & 2 == 0 ? [] : ["b"],
        cost: Resources(milliCores: Int64(first)))
}

/// Reads `bytes` as the store's answer to the request that `kind` selects, as a line of a watch, and as the values and
/// keys of entries.
func readStore(_ bytes: [UInt8], _ kind: Int) {
    let requests: [StoreRequest] = [
        .grant(ttl: .seconds(5)), .keepAlive(lease: 7), .revoke(lease: 7), .read(after: 0),
        .claim(channel: "c", host: "a", lease: 7, successor: nil),
    ]
    switch kind % 7 {
    case 5: if let line = try? EtcdAnswer.watchLine(bytes) { check(layout.changes(of: line).map(\.key)) }
    case 6:
        for kind in FleetKey.Kind.allCases {
            guard let value = FleetValue(kind, bytes), kind != .drain else { continue }
            require(FleetValue(kind, Array(value.json.utf8)) == value)
        }
        let key = "/relay/" + String(decoding: bytes, as: UTF8.self)
        guard let read = layout.fleetKey(key), read.kind != .other else { return }
        // A key of another form must not be taken for the entry.
        require(layout.key(read.kind, read.name).utf8.elementsEqual(key.utf8))
    case let index:
        let answer = layout.answer(to: requests[index], body: bytes)
        switch answer {
        case .contents(let revision, let changed, let count):
            require(index == 3 && revision > 0 && revision < .max && count >= 0)
            check(Array(changed.keys))
        case .granted(let lease, let ttl): require(index == 0 && lease != 0 && ttl > .zero)
        case .alive(let ttl): require(index == 1 && ttl > .zero)
        case .done(let revision): require(index > 1 && revision > 0)
        case .refused: require(index != 1 && index != 2)
        case .leaseGone: require(index == 1 || index == 2)
        case .failed: break
        }
    }
}

private func check(_ keys: [FleetKey]) {
    for key in keys where key.kind != .other { require(!key.name.isEmpty) }
}

/// Lets a host live in a fleet whose store answers with the lines of `bytes`, one for each request. Lines that do not
/// fit are answers that were lost. Between them, time passes and the watch reports lines.
func liveInFleet(_ bytes: [UInt8], seed: UInt8) {
    let profile = HostProfile(name: "a", capacity: Resources(milliCores: 1000))
    var member = FleetMember(
        profile, seed: UInt64(seed), endpoints: 1 + Int(seed & 3), quorumLoss: seed & 4 == 0 ? .stop : .keep)
    var now = MonotonicInstant.zero
    var asked: [(number: Int, request: StoreRequest)] = []
    var events: [FleetMember.Event] = [.start]
    var lines = bytes.split(separator: UInt8(ascii: "\n")).prefix(400)
    var steps = 0
    while steps < 2000 {
        steps += 1
        if events.isEmpty {
            guard let line = lines.popFirst() else { return }
            events = told(line, &asked)
        }
        for action in member.handle(events.removeFirst(), at: now) {
            switch action {
            case .ask(let number, let request, let endpoint):
                require(endpoint >= 0 && endpoint < 4)
                asked.append((number, request))
            case .watch(let since, _): require(since > 0)
            case .start(let channel, _, let until):
                require(until > now)
                events.append(.channel(channel, .frame(0, at: now, frameDuration: .milliseconds(40))))
            case .prepare(let channel): events.append(.channel(channel, .opened))
            case .endBefore(let channel, _): events.append(.channel(channel, .reachedCut))
            default: break
            }
        }
        asked = asked.suffix(20)
        if let due = member.due, due > now, steps % 3 == 0 {
            now = due
            events.append(.time)
        }
    }
}

/// The events that a line stands for: the answer to the oldest request, or what the watch reports. At least one.
private func told(
    _ line: ArraySlice<UInt8>, _ asked: inout [(number: Int, request: StoreRequest)]
) -> [FleetMember.Event] {
    switch line.first {
    case UInt8(ascii: "w"):
        guard let line = try? EtcdAnswer.watchLine(line.dropFirst()) else { return [.watchEnded] }
        return line.isCanceled ? [.watchEnded] : [.changed(layout.changes(of: line))]
    case UInt8(ascii: "f"): return [.channelFailed("c")]
    case UInt8(ascii: "l"): return [.leave]
    case UInt8(ascii: "o"): return [.channel("c", .openingFailed)]
    // The newest request is answered before the older ones.
    case UInt8(ascii: "n"):
        guard let newest = asked.popLast() else { return [.time] }
        return [.answered(request: newest.number, layout.answer(to: newest.request, body: line.dropFirst()))]
    default:
        guard !asked.isEmpty else { return [.time] }
        let oldest = asked.removeFirst()
        return [.answered(request: oldest.number, layout.answer(to: oldest.request, body: line))]
    }
}
