// SPDX-License-Identifier: Apache-2.0

package import Media
internal import Program
internal import Status
internal import Synchronization

/// The overlays of a program, by name. All calls can be made on any thread.
package final class Overlays: Sendable {
    /// One of the overlays.
    struct Entry: Sendable {
        let specification: OverlaySpecification
        let overlay: Overlay
    }

    /// An operator's choices about one overlay.
    struct Memory: Sendable {
        fileprivate let specification: OverlaySpecification
        fileprivate let choice: Bool?
        fileprivate let text: String?
    }

    /// The maximum length of a fade in or out, and how far in advance it can be scheduled, both in seconds.
    private static let (longestFade, farthest) = (10.0, 3600.0)

    private let entries: [Entry]
    private let format: VideoFormat
    private let painter: OverlayPainter
    /// The changed texts, by the name of the overlay. The mutex is locked while an overlay is changed, so that the
    /// second of two concurrent changes begins with the result of the first.
    private let texts = Mutex<[String: OverlayText]>([:])

    /// Creates the overlays of `specifications` in a program of this format. Blocks on files and fonts. Throws
    /// ``ChannelFailure``.
    package init(_ specifications: [OverlaySpecification], format: VideoFormat) throws(ChannelFailure) {
        (self.format, painter) = (format, OverlayPainter(format: format))
        var entries: [Entry] = []
        do throws(OverlayPainter.Fault) {
            for specification in specifications {
                let overlay = Overlay(
                    specification.name, try painter.art(of: specification), isVisible: specification.isVisible)
                entries.append(Entry(specification: specification, overlay: overlay))
            }
        } catch {
            throw ChannelFailure(.inputUnreadable, .showOverlays, saidBy: error)
        }
        self.entries = entries
    }

    /// All overlays, from back to front.
    var all: [Overlay] { entries.map(\.overlay) }

    /// The overlays of these names.
    func named(_ names: [String]) -> [Overlay] { all.filter { names.contains($0.name) } }

    /// The overlay `name`. Throws a refusal of kind `kind` if it does not exist.
    func entry(
        _ name: String, otherwise kind: Refusal.Kind = .unusable
    ) throws(Refusal) -> Entry {
        if let entry = entries.first(where: { $0.overlay.name == name }) { return entry }
        let known = all.isEmpty ? "There is none." : "There are \(all.map(\.name).joined(separator: ", "))."
        throw Refusal(kind, "There is no overlay \(name). \(known)")
    }

    /// A report of each overlay.
    var reports: [ProgramReport.Overlay] {
        let texts = texts.withLock { $0 }
        return entries.map { entry in
            let text = texts[entry.overlay.name] ?? entry.specification.content.text
            return ProgramReport.Overlay(
                name: entry.overlay.name, text: text?.text, isSeen: entry.overlay.isSeen, visible: entry.overlay.choice)
        }
    }

    /// Carries out `request` on an overlay. Returns the frame of `bus` at which the change begins. Blocks while a text
    /// is drawn.
    func change(_ name: String, _ request: OverlayRequest, on bus: Bus) throws(Refusal) -> Int64 {
        let entry = try entry(name, otherwise: .notFound)
        let seconds = request.seconds ?? 0
        guard (0...Self.longestFade).contains(seconds) else {
            throw Refusal(.unusable, "An overlay comes and goes within 0 to \(Int(Self.longestFade)) s.")
        }
        let latest = bus.nextFrame + Int64(Self.farthest * format.frameRate.value)
        if let frame = request.at, !(0...latest.number).contains(frame) {
            throw Refusal(.unusable, "at is the number of a frame, from 0 to an hour ahead: \(latest.number).")
        }
        let drawn = try request.text.map { text throws(Refusal) in try draw(text, as: entry) }
        let frames = Int64((seconds * format.frameRate.value).rounded())
        return try texts.withLock { texts throws(Refusal) in
            var frame = bus.nextFrame
            if let choice = request.visible {
                frame = max(frame, FrameIndex(request.at ?? 0))
                guard entry.overlay.show(choice.isVisible, frames: frames, at: frame, as: drawn?.art) else {
                    throw Refusal(
                        .tooMany, "\(Overlay.mostChoices) changes of the overlay wait for their frames already.")
                }
            } else if let drawn {
                entry.overlay.draw(as: drawn.art)
            }
            if let drawn { texts[entry.overlay.name] = drawn.line }
            return frame.number
        }
    }

    private typealias Drawn = (line: OverlayText, art: OverlayArt)

    private func draw(_ text: String, as entry: Entry) throws(Refusal) -> Drawn {
        guard entry.specification.content.text != nil else {
            throw Refusal(.unusable, "The overlay \(entry.overlay.name) is an image: it has no text.")
        }
        let line: OverlayText
        do { line = try OverlayText(text) } catch { throw Refusal(.unusable, "\(error)") }
        do throws(OverlayPainter.Fault) {
            return (line, try painter.art(of: entry.specification, text: line))
        } catch {
            throw Refusal(.conflict, "\(error)")
        }
    }
}

// MARK: An operator's choices, for a reopened channel

extension Overlays {
    var memory: [Memory] {
        let texts = texts.withLock { $0 }
        return entries.map {
            Memory(
                specification: $0.specification, choice: $0.overlay.choice, text: texts[$0.overlay.name]?.text)
        }
    }

    /// Restores the choices about overlays that operators made before the channel was reopened. A choice is dropped if
    /// it no longer fits, or if the configured text or visibility that it replaced has changed since. Blocks while
    /// texts are drawn.
    func restore(_ memory: [Memory]) {
        for kept in memory {
            guard let entry = try? entry(kept.specification.name) else { continue }
            let (now, before) = (entry.specification, kept.specification)
            if let text = kept.text, now.content.text == before.content.text, let drawn = try? draw(text, as: entry) {
                texts.withLock { texts in
                    entry.overlay.draw(as: drawn.art)
                    texts[entry.overlay.name] = drawn.line
                }
            }
            if kept.choice != before.isVisible, now.isVisible == before.isVisible {
                _ = entry.overlay.show(kept.choice, frames: 0, at: 0)
            }
        }
    }
}

extension OverlaySpecification.Content {
    /// The text of a text overlay; nil for an image.
    fileprivate var text: OverlayText? { if case .text(let text) = self { text } else { nil } }
}

extension OverlayRequest.Choice {
    fileprivate var isVisible: Bool? {
        switch self {
        case .shown: true
        case .hidden: false
        case .scenes: nil
        }
    }
}
