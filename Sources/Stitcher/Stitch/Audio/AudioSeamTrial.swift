// SPDX-License-Identifier: Apache-2.0

internal import LibAV
internal import MP4
internal import Media

/// A position in the audio of a clip at which copied packets are joined to new packets.
struct AudioSeam: Hashable {
    let clip: Int
    /// The number of the packet, in the clip's file, that is directly after the seam.
    let packet: Int
}

/// Finds out which AAC windows the encoder uses at seams, by encoding the new packets next to copied packets. If a
/// window at a seam is not long, or is not Kaiser-Bessel-derived, the overlapping halves of the two packets there do
/// not match, which is heard as a click. Used by one thread.
struct AudioSeamTrial {
    let format: AudioFormat
    let sources: [StitchSource]
    let bitrate: Int

    /// How many packets at the end of a long span are encoded to find the window of its last packet. Far fewer packets
    /// influence the encoder's choice of that window.
    private static let reach: Int64 = 8

    /// Returns a plan from `make` whose seams pass the trial, as far as failing seams can be excluded. `make` is first
    /// called without excluded seams, and later with the seams that failed the trial.
    func tried(_ make: (_ torn: Set<AudioSeam>) -> AudioPlan?, isCancelled: () -> Bool) throws -> AudioPlan? {
        var torn: Set<AudioSeam> = []
        var known: AudioPlan?
        while let plan = make(torn) {
            let new = try self.torn(plan, besides: known, isCancelled: isCancelled)
            // Excluding a seam has no effect if the clip is always copied up to its end. Therefore the loop ends as
            // soon as no further seam fails.
            guard !torn.isSuperset(of: new) else { return plan }
            torn.formUnion(new)
            known = plan
        }
        return nil
    }

    /// The seams of `plan` that fail the trial. Seams next to spans that `known` also contains are not tried again.
    func torn(_ plan: AudioPlan, besides known: AudioPlan? = nil, isCancelled: () -> Bool) throws -> Set<AudioSeam> {
        let done = known?.clips == plan.clips ? known?.spans ?? [] : []
        var torn: Set<AudioSeam> = []
        for (index, span) in plan.spans.enumerated() {
            guard case .encoded(let range) = span, !done.contains(span) else { continue }
            if isCancelled() { throw ClipFailure.cancelled }
            try look(at: range, index, of: plan, &torn)
        }
        return torn
    }

    private func look(at range: Range<Int64>, _ index: Int, of plan: AudioPlan, _ torn: inout Set<AudioSeam>) throws {
        var (before, after): (AudioSeam?, AudioSeam?)
        if index > 0, case .copied(let clip, let packets) = plan.spans[index - 1] {
            before = AudioSeam(clip: clip, packet: packets.upperBound)
        }
        if index + 1 < plan.spans.count, case .copied(let clip, let packets) = plan.spans[index + 1] {
            after = AudioSeam(clip: clip, packet: packets.lowerBound)
        }
        let step = AudioGrid.step
        var mixer = AudioMixer(plan, format, sources)
        // New packets that will be encoded in one session are also tried in one session, so that the trial gets the
        // same packets as the result.
        let isBridge = AudioWriter.isBridge(range, format)
        let head = isBridge && after != nil ? range : range.lowerBound..<range.lowerBound + step
        let tail = isBridge ? range : range.upperBound - Self.reach * step..<range.upperBound
        var windows: [Int64: AACWindow] = [:]
        if let before {
            windows = try self.windows(head, isFirst: false, &mixer)
            if !isLong(windows[range.lowerBound - step]) || !isLong(windows[range.lowerBound]) { torn.insert(before) }
        }
        if let after {
            if head != tail || before == nil {
                windows = try self.windows(tail, isFirst: isBridge && index == 0, &mixer)
            }
            if !isLong(windows[range.upperBound - step]) { torn.insert(after) }
        }
    }

    private func isLong(_ window: AACWindow?) -> Bool { window?.isLong == true && window?.isKaiser == true }

    /// The AAC windows of the new packets in `range` and of the packets that the encoder outputs before them, keyed by
    /// presentation time.
    private func windows(_ range: Range<Int64>, isFirst: Bool, _ mixer: inout AudioMixer) throws -> [Int64: AACWindow] {
        let encoder = try AACEncoder(format: format, bitrate: bitrate)
        var fed = AudioWriter.start(of: range, encoder, isFirst: isFirst)
        var (windows, end): ([Int64: AACWindow], Int64) = ([:], .min)
        while end < range.upperBound {
            for packet in try encoder.encode(try mixer.mix(fed..<fed + AudioGrid.step)) {
                windows[packet.pts] = packet.payload.withUnsafeBytes {
                    AACWindow(Array($0.prefix(Int(AACWindow.headerSize))))
                }
                end = packet.pts + AudioGrid.step
            }
            fed += AudioGrid.step
        }
        return windows
    }
}
