// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import TestSupport
import Testing

@testable import Control

/// Requests that are derived from the API's description. The client has the role `operate`, and so may do everything.
@Suite("Requests to each operation of the API's description")
struct DescribedRequestTests {
    private let api: DescribedAPI
    private let trial = DescribedTrial()

    init() throws { api = try DescribedAPI() }

    @Test("A method that the API's description lacks for a path gets status 405 and the list of described methods")
    func methods() async throws {
        let brew = try #require(HTTPRequest.Method("BREW"))
        let all: [HTTPRequest.Method] = [.get, .head, .post, .put, .patch, .delete, .options, .trace, brew]
        for (path, methods) in api.methods {
            let allowed = methods.map(\.rawValue).sorted().joined(separator: ", ")
            let operation = try #require(api.operations.first { $0.path == path })
            for method in all where !methods.contains(method) {
                for (client, host) in [(.nothing, .own), (.operateToken, .own), (.operateToken, .foreign)]
                    as [(TrialClient, TrialHost)]
                {
                    let answer = try await trial.ask(method, operation.samplePath, by: client, to: host)
                    let name = "\(method.rawValue) \(path)"
                    #expect(answer.status == 405 && answer.header("Allow") == allowed, "\(name): \(answer.status)")
                    #expect(answer.faults == [], "\(name)")
                    if method != .head { #expect(answer.problemFaults == [], "\(name)") }
                }
            }
        }
        #expect(api.methods.count > 40)
    }

    @Test("A HEAD request for a path with GET gets GET's status and headers except for the length, and no body")
    func heads() async throws {
        let gets = api.operations.filter { $0.method == .get }
        #expect(gets.count > 20)
        for operation in gets {
            for client in [.nothing, .wrongToken, .viewToken, .operateSession] as [TrialClient] {
                for query in [""] + operation.query.map({ "?\($0.name)=\($0.wrong[0])" }) {
                    let path = operation.samplePath + query
                    let get = try await trial.ask(.get, path, by: client)
                    let head = try await trial.ask(.head, path, by: client)
                    #expect(head.status == get.status && head.body.isEmpty, "\(path), \(client)")
                    // The length of the metrics changes with their values, and the event stream has no length.
                    var (expected, headers) = (get.headers, head.headers)
                    (expected[.contentLength], headers[.contentLength]) = (nil, nil)
                    #expect(headers == expected && head.faults == [], "\(path), \(client)")
                }
            }
        }
    }

    @Test("A query value outside of the described bounds gets status 400, and a value at a bound does not")
    func queries() async throws {
        let limited = api.operations.filter { !$0.query.isEmpty }
        #expect(limited.count > 15)
        for operation in limited {
            for query in operation.query {
                for value in query.wrong + query.right.prefix(1).map({ "\($0)&\(query.name)=\(query.wrong[0])" }) {
                    let path = "\(operation.samplePath)?other=1&\(query.name)=\(value)"
                    let answer = try await trial.ask(operation.method, path)
                    #expect(answer.status == 400 && answer.faults == [], "\(operation.method) \(path)")
                    let stranger = try await trial.ask(operation.method, path, by: .nothing)
                    #expect(stranger.status == 401 && stranger.faults == [], "\(operation.method) \(path)")
                }
                for value in query.right {
                    let path = "\(operation.samplePath)?\(query.name)=\(value)"
                    let answer = try await trial.ask(operation.method, path)
                    #expect(answer.status != 400 && answer.faults == [], "\(operation.method) \(path)")
                    #expect(answer.undescribed(by: operation) == [], "\(operation.method) \(path)")
                }
            }
        }
    }

    @Test("Whatever body a request has, the response has a status and type of the API's description, and no secret")
    func bodies() async throws {
        let types = ["application/json", "application/yaml", "text/plain", "application/json; charset=utf-8", nil]
        let bodies = [
            "", "{}", "[]", "null", "{", "\"everything-22\"", #"{"token":"everything-22x"}"#, #"{"address":"looking"}"#,
            #"{"address":"rtmp://user:everything-22@host/live/key"}"#, #"{"text":"\u0000"}"#, #"{"unknown":1}"#,
            "\u{0}",
            String(repeating: "[", count: 5000),
        ]
        for operation in api.operations where operation.changesSomething {
            for type in types {
                for body in bodies {
                    let answer = try await trial.ask(operation.method, operation.samplePath, body: body, type: type)
                    let name = "\(operation), \(type ?? "no type"), \(body.prefix(40)): \(answer.status)"
                    #expect(answer.faults == [] && answer.problemFaults == [], "\(name)")
                    #expect(answer.undescribed(by: operation) == [], "\(name)")
                }
            }
        }
        #expect(trial.log.lines == [])
    }

    @Test("Whatever the parameters in a path are, the response is one of the API's description and sets no cookie")
    func paths() async throws {
        let values = [
            "%00", "%FF", "..", ".", "%2e%2e", "..%2F..%2Fetc%2Fpasswd", "x%0D%0ASet-Cookie:%20a=b", "{channel}", "*",
            "9223372036854775808", "-1", String(repeating: "a", count: 3000), "%F0%9F%8E%A5",
        ]
        for operation in api.operations where operation.path.contains("{") {
            for value in values {
                for path in [operation.filled { _ in value }, operation.filled { $0 == "channel" ? "main" : value }] {
                    let answer = try await trial.ask(operation.method, path)
                    let name = "\(operation.method.rawValue) \(path.prefix(120)): \(answer.status)"
                    #expect(answer.faults == [] && answer.header("Set-Cookie") == nil, "\(name)")
                    #expect(answer.undescribed(by: operation) == [], "\(name)")
                }
            }
        }
        #expect(trial.log.lines == [])
    }
}
