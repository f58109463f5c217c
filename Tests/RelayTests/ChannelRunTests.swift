// SPDX-License-Identifier: Apache-2.0

import Control
import Library
import Logging
import Status
import Testing

@testable import Channel
@testable import Relay

@Suite("A channel that relay restarts after a change of its configuration file")
struct ChannelRunTests {
    /// Returns a channel with these cameras that records each of them.
    private func channel(_ cameras: [String], recording: String = "directory: /tmp/rec") throws -> ConfiguredChannel {
        let inputs = cameras.map { "{address: \"test:\", name: \($0)}" }.joined(separator: ", ")
        let text = """
            channels:
              - name: main
                inputs: [\(inputs)]
                recording: {\(recording), sources: true}
            """
        return try #require(try HostConfiguration(parsing: text, path: "relay.yaml").channels.first)
    }

    /// Returns the API's view when `next` replaces `first`.
    private func control(_ first: ConfiguredChannel, _ next: ConfiguredChannel) -> ChannelControl {
        let run = ChannelRun(
            first, isFirst: true, resources: HostResources(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return run.control(for: next)
    }

    @Test("After a reload that adds a source, the API lists the source's recordings")
    func added() throws {
        let control = control(try channel(["cam1", "cam2"]), try channel(["cam1", "cam2", "cam3"]))
        for source in ["cam1", "cam2", "cam3"] { #expect(control.archive(ofSource: source) != nil, "\(source)") }
        #expect(control.archive(ofSource: "cam4") == nil && control.configuredRecording?.sources.count == 3)
    }

    @Test("After a reload that removes a source, the API lists the source's recordings if the directory stays the same")
    func removed() throws {
        let first = try channel(["cam1", "cam2", "cam3"])
        let control = control(first, try channel(["cam1", "cam2"]))
        #expect(control.archive(ofSource: "cam3")?.path == "/tmp/rec")
        let moved = self.control(first, try channel(["cam1", "cam2"], recording: "directory: /tmp/other"))
        #expect(moved.archive(ofSource: "cam3") == nil)
        #expect(moved.archive(ofSource: "cam1")?.path == "/tmp/other" && moved.archive?.path == "/tmp/other")
    }

    @Test("The API keeps its list of recordings across a reload that leaves the recording directory unchanged")
    func kept() throws {
        let (first, next) = (try channel(["cam1", "cam2"]), try channel(["cam1", "cam3"]))
        let control = ChannelControl(name: "main", recording: first.configuration.recording)
        let (program, source) = (control.archive, control.archive(ofSource: "cam1"))
        control.configure(recording: next.configuration.recording, isChanged: false)
        #expect(program != nil && control.archive === program && control.archive(ofSource: "cam1") === source)
        control.configure(recording: nil, isChanged: true)
        #expect(control.archive == nil && control.archive(ofSource: "cam1") == nil)
    }

    // Regression: a run could not end because of a disk. When the disk answered, the run removed the restarted channel
    // from the API.
    @Test("After a channel was restarted, reports of its previous run are ignored")
    func former() throws {
        let control = ChannelControl(name: "main", recording: nil)
        let first = control.begin()
        control.closed(.waiting, by: first)
        #expect(control.report.state == .waiting)
        let second = control.begin()
        control.closed(.opening, by: second)
        control.closed(.over, by: first)
        #expect(control.report.state == .opening)
        control.closed(.over, by: second)
        #expect(control.report.state == .over)
    }
}
