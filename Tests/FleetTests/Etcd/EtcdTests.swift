// SPDX-License-Identifier: Apache-2.0

import Fleet
import Foundation
import TestSupport
import Testing

@Suite("etcd's JSON gateway")
struct EtcdTests {
    private static let layout = EtcdLayout(prefix: "/relay") { bytes in
        bytes.isEmpty ? nil : ChannelDemand(needs: [String(decoding: bytes, as: UTF8.self)])
    }

    private static func base64(_ text: String) -> String { Data(text.utf8).base64EncodedString() }

    private static func answer(_ request: StoreRequest, _ body: String) -> StoreAnswer {
        layout.answer(to: request, body: Array(body.utf8))
    }

    @Test func `Leases are granted, renewed and revoked with the numbers as texts`() {
        let requests: [(StoreRequest, String, String)] = [
            (.grant(ttl: .seconds(5)), "/v3/lease/grant", #"{"TTL":"5"}"#),
            (.grant(ttl: .milliseconds(4200)), "/v3/lease/grant", #"{"TTL":"5"}"#),
            (.keepAlive(lease: 7_587_870_341_223_456_789), "/v3/lease/keepalive", #"{"ID":"7587870341223456789"}"#),
            (.revoke(lease: 12), "/v3/lease/revoke", #"{"ID":"12"}"#),
        ]
        for (request, path, body) in requests {
            let etcd = Self.layout.request(for: request)
            #expect(etcd.path == path && etcd.body == body)
        }
        #expect(
            Self.answer(.grant(ttl: .seconds(5)), #"{"header":{"revision":"3"},"ID":"4655","TTL":"5"}"#)
                == .granted(lease: 4655, ttl: .seconds(5)))
        #expect(Self.answer(.revoke(lease: 12), #"{"header":{"revision":"9"}}"#) == .done(revision: 9))
    }

    @Test func `An answer to a keep-alive without a time means that the lease has ended, even with status 200`() {
        let request = StoreRequest.keepAlive(lease: 4655)
        #expect(
            Self.answer(request, #"{"result":{"header":{"revision":"3"},"ID":"4655","TTL":"5"}}"#)
                == .alive(ttl: .seconds(5)))
        #expect(Self.answer(request, #"{"result":{"header":{"revision":"3"},"ID":"4655"}}"#) == .leaseGone)
        #expect(Self.answer(request, #"{"result":{"ID":"4655","TTL":"0"}}"#) == .leaseGone)
        for body in [#"{"result":{"ID":"1","TTL":"5"}}"#, #"{"ID":"4655","TTL":"5"}"#, "{}", "", "<html>"] {
            #expect(Self.answer(request, body) == .failed, "\(body)")
        }
    }

    @Test func `An error of etcd is no answer, unless it says that the lease does not exist`() {
        func error(_ code: Int, _ text: String) -> String {
            #"{"error":"\#(text)","code":\#(code),"message":"\#(text)"}"#
        }
        let gone = error(5, "etcdserver: requested lease not found")
        let away = error(14, "etcdserver: request timed out")
        let claim = StoreRequest.claim(channel: "c", host: "a", lease: 7, successor: nil)
        #expect(Self.answer(claim, gone) == .refused(revision: 0, claim: nil, successor: nil))
        #expect(Self.answer(.revoke(lease: 7), gone) == .leaseGone)
        for request in [claim, .revoke(lease: 7), .keepAlive(lease: 7), .grant(ttl: .seconds(5)), .read(after: 0)] {
            #expect(Self.answer(request, away) == .failed)
        }
        let stream = #"{"error":{"grpc_code":14,"http_code":503,"message":"no leader","http_status":"Unavailable"}}"#
        #expect(throws: EtcdAnswer.Failure.refused(code: 14, message: "no leader")) {
            try EtcdAnswer.watchLine(Array(stream.utf8))
        }
    }

    @Test func `A claim creates its key if neither a claim nor a successor exists, and reads both if one does`() {
        let (claim, successor) = (Self.base64("/relay/claim/c"), Self.base64("/relay/successor/c"))
        let request = StoreRequest.claim(channel: "c", host: "a", lease: 7, successor: nil)
        func condition(_ key: String) -> String {
            #"{"create_revision":"0","key":"\#(key)","result":"EQUAL","target":"CREATE"}"#
        }
        let conditions = condition(claim) + "," + condition(successor)
        let put = #"{"request_put":{"key":"\#(claim)","lease":"7","value":"\#(Self.base64(#"{"host":"a"}"#))"}}"#
        let reads = [claim, successor].map { #"{"request_range":{"key":"\#($0)"}}"# }.joined(separator: ",")
        #expect(
            Self.layout.request(for: request).body
                == #"{"compare":[\#(conditions)],"failure":[\#(reads)],"success":[\#(put)]}"#)

        #expect(
            Self.answer(
                request,
                #"{"header":{"revision":"41"},"succeeded":true,"responses":[{"response_put":{"header":{}}}]}"#)
                == .done(revision: 41))
        let value = Self.base64(#"{"host":"b"}"#)
        let held =
            #"{"key":"\#(claim)","create_revision":"30","mod_revision":"31","version":"2","lease":"9","value":"\#(value)"}"#
        let kvs = #"{"response_range":{"header":{},"kvs":[\#(held)],"count":"1"}}"#
        let entry = FleetEntry(.host("b"), created: 30, modified: 31, lease: 9)
        #expect(
            Self.answer(
                request,
                #"{"header":{"revision":"44"},"responses":[\#(kvs),{"response_range":{"header":{}}}]}"#)
                == .refused(revision: 44, claim: entry, successor: nil))
    }

    @Test func `A read requests only changed entries, and its count includes keys of unknown kinds`() {
        let body = Self.layout.request(for: .read(after: 41)).body
        let (begin, end) = (Self.base64("/relay/"), Self.base64("/relay0"))
        #expect(body == #"{"key":"\#(begin)","min_mod_revision":"42","range_end":"\#(end)"}"#)
        #expect(Self.layout.request(for: .read(after: 0)).body == #"{"key":"\#(begin)","range_end":"\#(end)"}"#)
        let keys = [("channel/c", "gpu"), ("drain/a", ""), ("new/x", "1"), ("offer/c", "broken")].map {
            let (key, value) = (Self.base64("/relay/" + $0.0), Self.base64($0.1))
            return #"{"key":"\#(key)","create_revision":"3","mod_revision":"4","value":"\#(value)"}"#
        }
        let answer = Self.answer(
            .read(after: 2), #"{"header":{"revision":"9"},"kvs":[\#(keys.joined(separator: ","))],"count":"12"}"#)
        let mark = FleetEntry(.mark, created: 3, modified: 4)
        let demand = FleetEntry(.demand(ChannelDemand(needs: ["gpu"])), created: 3, modified: 4)
        #expect(
            answer
                == .contents(
                    revision: 9,
                    changed: [
                        FleetKey(.channel, "c"): demand, FleetKey(.drain, "a"): mark,
                        FleetKey(.other, "new/x"): mark, FleetKey(.offer, "c"): mark,
                    ], count: 12))
        #expect(
            Self.answer(.read(after: 0), #"{"header":{"revision":"1"}}"#)
                == .contents(revision: 1, changed: [:], count: 0))
    }

    @Test func `A line of a watch reports writes, which have no type, and deletions`() throws {
        let range = #""key":"\#(Self.base64("/relay/"))","range_end":"\#(Self.base64("/relay0"))""#
        #expect(
            Self.layout.watch(since: 42).body == #"{"create_request":{\#(range),"start_revision":"42"}}"#)
        let created = try EtcdAnswer.watchLine(Array(#"{"result":{"header":{"revision":"8"},"created":true}}"#.utf8))
        #expect(created.revision == 8 && created.changes == [] && !created.isCanceled)
        let key = Self.base64("/relay/claim/c")
        let value = Self.base64(#"{"host":"a"}"#)
        let put =
            #"{"kv":{"key":"\#(key)","create_revision":"9","mod_revision":"9","lease":"7","value":"\#(value)"}}"#
        let deletion = #"{"type":"DELETE","kv":{"key":"\#(key)","mod_revision":"10"}}"#
        let text = #"{"result":{"header":{"revision":"9"},"events":[\#(put),\#(deletion)]}}"#
        let line = try EtcdAnswer.watchLine(Array(text.utf8))
        let claim = FleetKey(.claim, "c")
        #expect(
            Self.layout.changes(of: line) == [
                FleetChange(
                    claim, revision: 9, entry: FleetEntry(.host("a"), created: 9, modified: 9, lease: 7)),
                FleetChange(claim, revision: 10, entry: nil),
            ])
        let canceled = #"{"result":{"header":{},"canceled":true,"compact_revision":"100"}}"#
        #expect(try EtcdAnswer.watchLine(Array(canceled.utf8)).isCanceled)
    }

    @Test func `Each value that hosts write into the store is read back as it was written`() {
        let values: [(FleetKey.Kind, FleetValue)] = [
            (.claim, .host("a \"b\"")), (.host, .host("ä")), (.move, .host("")), (.drain, .mark),
            (.offer, .offer(HandoverOffer())), (.offer, .offer(HandoverOffer(to: "b", cut: .max, round: 3))),
            (.successor, .successor(HandoverSuccessor(host: "b"))),
            (.successor, .successor(HandoverSuccessor(host: "b", state: .ready))),
            (.successor, .successor(HandoverSuccessor(host: "b", state: .armed(cut: -1)))),
        ]
        for (kind, value) in values { #expect(FleetValue(kind, Array(value.json.utf8)) == value) }
        for text in ["", "1", "{}", #"{"host":1}"#, #"{"host":"a","state":"armed"}"#] {
            #expect(FleetValue(.successor, Array(text.utf8)) == nil)
        }
    }

    @Test func `Any answer of a server is parsed or refused, and never crashes the process`() {
        var random = SeededRandom()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"header\"", "\"revision\"", "\"5\"", "\"result\"", "\"events\"", "\"kv\"",
            "\"key\"", "\"TTL\"", "\"ID\"", "\"kvs\"", "\"count\"", "\"-1\"", "\"responses\"", "\"response_range\"",
            "null",
            "\"YQ==\"", "1e400", "true", "\"succeeded\"", "\"99999999999999999999\"",
        ]
        let requests: [StoreRequest] = [
            .grant(ttl: .seconds(5)), .keepAlive(lease: 5), .revoke(lease: 5), .read(after: 0),
            .claim(channel: "c", host: "a", lease: 5, successor: nil),
        ]
        var read = 0
        for _ in 0..<20_000 {
            let text = "{" + random.text(of: pieces, upTo: 12) + "}"
            for request in requests where Self.answer(request, text) != .failed { read += 1 }
            _ = try? EtcdAnswer.watchLine(Array(text.utf8))
        }
        #expect(read < 20_000)
    }
}
