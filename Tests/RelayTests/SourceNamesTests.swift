// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Channel
import Program
import Testing

@testable import Relay

@Suite("Names of sources and scenes")
struct SourceNamesTests {
    private func scenes(_ flags: [String]) throws -> [(name: String, layout: SceneLayout)] {
        let usual = ["--rtmp", "rtmp://127.0.0.1:1/a/b", "--input", "test:#name=one"]
        return try RunCommand.parse(usual + flags).channelConfiguration().scenes
    }

    private func fault(_ flags: String...) -> String {
        do {
            _ = try scenes(flags)
            return ""
        } catch {
            return RunCommand.message(for: error)
        }
    }

    private func fault(ofScene text: String) -> String { fault("--input", "test:#name=two", "--scene", text) }

    @Test("A reserved word is refused as a source's name", arguments: ["slate", "mix", "follow"])
    func reserved(name: String) {
        #expect(fault("--input", "test:#name=\(name)").contains("No source is called \(name)"))
        #expect(fault("--input", "test:#name=\(name)s") == "")
    }

    @Test("A scene with the name of a source or slate, or with an option that its layout does not have, is refused")
    func scenes() {
        #expect(fault(ofScene: "two=pip:one,two").contains("a source with the name two already"))
        #expect(fault(ofScene: "slate=single:one").contains("slate exists already"))
        #expect(fault(ofScene: "duo=split-horizontal:one,two#corner=top-left").contains("An inset is for pip"))
        #expect(fault(ofScene: "duo=grid:one,two#fit=contain").contains("fit is for a split"))
        #expect(fault(ofScene: "duo=pip:one,two").isEmpty)
    }

    @Test("The corner of an inset is set by an option of its scene")
    func corner() throws {
        let found = try scenes([
            "--input", "test:#name=two", "--scene", "duo=pip:one,two#corner=top-left,width=0.5",
        ])
        #expect(found.first?.layout.inset == .init(x: 0.025, y: 0.025, width: 0.5))
    }

    @Test("A scene that is written as a flag is read back as it was")
    func written() throws {
        let layouts = [
            SceneLayout(.slate, []), SceneLayout(.single, ["one"], overlays: ["logo"]),
            SceneLayout(.pip, ["one", "two"], inset: .init(.bottomRight, width: 0.3), overlays: ["logo", "clock"]),
            SceneLayout(.splitVertical, ["two", "one"], fit: .contain),
            SceneLayout(.grid, ["one", "two"]),
        ]
        for layout in layouts {
            let text = "a=\(NamedScene.text(of: layout))"
            let read = try NamedScene(text, sources: ["one", "two"], overlays: ["logo", "clock"]).value
            #expect(read.name == "a" && read.layout == layout, "\(text)")
        }
        #expect(NamedScene.text(of: SceneLayout(.single, ["one"], overlays: [])) == "single:one")
    }
}
