// SPDX-License-Identifier: Apache-2.0

import Archive
import Media
import TestSupport

@testable import Catalogue
@testable import Library

/// Operations of an operator through the API.
extension ArchiveWalk {
    /// Whether the API must work: the directory exists and is writable, and the catalogue is not damaged.
    private var isHealthy: Bool { !isMissing && !isReadOnly && !place.isCatalogueDamaged }

    /// The name of a random recording that is not damaged; nil if there is no such recording.
    private func anyName() -> String? {
        let whole = place.names.filter { place.files[$0]?.isDamaged == false }
        return whole.isEmpty ? nil : random.pick(whole)
    }

    /// Holds a recording, or releases it.
    func hold() {
        guard let relay, let name = anyName() else { return }
        let isHeld = !place.held.contains(name)
        note("\(isHeld ? "hold" : "release") \(name)")
        do {
            try relay.archive.setHold(isHeld, of: RecordingID.id(of: name))
            if isHeld { place.held.insert(name) } else { place.held.remove(name) }
        } catch {
            if isHealthy { fault("\(name) cannot be held or released: \(error)") }
        }
        scan()
    }

    /// Makes a clip of a recording and perhaps of its neighbours, or removes a clip.
    func clip() {
        guard let relay else { return }
        let ledger = ChannelLedger(directory: relay.directory, channel: channel)
        if !place.clips.isEmpty, Bool.random(using: &random) {
            let index = Int.random(in: place.clips.indices, using: &random)
            note("delete the clip \(place.clips[index].id)")
            if (try? ledger.note([], removing: [place.clips[index].id])) != nil { place.clips.remove(at: index) }
            return
        }
        guard let name = anyName(), let file = place.files[name], !file.frames.isEmpty else { return }
        let first = Int64.random(in: file.frames, using: &random)
        let end = first + Int64.random(in: ClipMachine.fewestFrames...100, using: &random)
        let clip = CatalogueClip(
            ClipMachine.Clip(id: "c\(nextNumber())", run: file.run, first: first, end: end, isComplete: true),
            channel: channel, rate: SimulatedMedia.rate, start: time.wall.milliseconds, name: nil)
        note("clip \(clip.id): \(first)..<\(end) of \(file.run)")
        do {
            _ = try ledger.note([clip], removing: [])
            place.clips.append(clip)
        } catch {
            if isHealthy { fault("a clip cannot be made: \(error)") }
        }
    }

    /// Tries to delete the file `name`, which another process has open, by the two calls of the API.
    func tryToDelete(_ name: String) {
        let id = RecordingID.id(of: name)
        guard let archive = relay?.archive, let plan = try? archive.planDeletion(of: id) else { return }
        note("try to delete \(name)")
        _ = try? archive.delete(token: plan.token, subject: .recording(id: id))
    }

    /// Deletes a recording by the two calls of the API: first the plan, then the deletion with the plan's token.
    func deleteByOperator() {
        guard let relay, let name = anyName(), let file = place.files[name] else { return }
        note("delete \(name)")
        let ledger = ChannelLedger(directory: relay.directory, channel: channel)
        let isWaiting = (try? ledger.segment(name))?.upload == UploadState.waiting
        let id = RecordingID.id(of: name)
        var deleted: Set<String> = []
        do {
            let plan = try relay.archive.planDeletion(of: id)
            let result = try relay.archive.delete(token: plan.token, subject: .recording(id: id))
            deleted = Set(result.deleted.map(\.name))
        } catch {
            note("refused: \(error)")
        }
        let mustStay = place.held.contains(name) || place.isInClip(file) || isWaiting && !file.isExempt
        if mustStay, deleted.contains(name) { fault("an operator could delete \(name), which is needed") }
        scan(.names(deleted))
    }
}
