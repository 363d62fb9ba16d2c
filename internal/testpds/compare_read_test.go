package testpds

import (
	"net/http"
	"strings"
)

// query is a call without token.
func query(name, call string) step {
	return step{name: name, run: func(p *peer) answer { p.as(""); return p.get(call) }}
}

// readSteps compare com.atproto.repo.getRecord, listRecords and describeRepo. The
// record with a random key, which putSteps made, is removed first.
func readSteps() []step {
	const get, list = "com.atproto.repo.getRecord?", "com.atproto.repo.listRecords?"
	const in = "&collection=" + infraCollection
	return []step{
		{name: "remove the random key", run: func(p *peer) answer {
			p.as("alice")
			return p.remove(p.vars["made"][strings.LastIndex(p.vars["made"], "/")+1:], "")
		}},
		query("record", get+"repo={alice}"+in+"&rkey=a"),
		query("record by handle", get+"repo=alice.test"+in+"&rkey=a"),
		query("record of a CID it is not", get+"repo={alice}"+in+"&rkey=a&cid="+otherCID),
		query("missing", get+"repo={alice}"+in+"&rkey=missing"),
		query("missing collection", get+"repo={alice}&collection=a.b.c&rkey=a"),
		query("unknown DID", get+"repo=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"+in+"&rkey=a"),
		query("unknown handle", get+"repo=nobody.test"+in+"&rkey=a"),
		loosely(query("no rkey", get+"repo={alice}"+in)),
		loosely(query("empty rkey", get+"repo={alice}"+in+"&rkey=")),
		loosely(query("bad rkey", get+"repo={alice}"+in+"&rkey=..")),
		loosely(query("bad collection", get+"repo={alice}&collection=bad&rkey=a")),
		loosely(query("bad repo", get+"repo=x y"+in+"&rkey=a")),
		loosely(query("bad CID", get+"repo={alice}"+in+"&rkey=a&cid=x")),

		query("list", list+"repo={alice}"+in),
		query("list 3", list+"repo={alice}"+in+"&limit=3"),
		query("list 100", list+"repo={alice}"+in+"&limit=100"),
		loosely(query("list 101", list+"repo={alice}"+in+"&limit=101")),
		loosely(query("list 0", list+"repo={alice}"+in+"&limit=0")),
		loosely(query("list x", list+"repo={alice}"+in+"&limit=x")),
		query("list on", list+"repo={alice}"+in+"&limit=3&cursor=content"),
		query("list to the end", list+"repo={alice}"+in+"&limit=100&cursor=b"),
		query("list past the end", list+"repo={alice}"+in+"&cursor=!"),
		query("list from above", list+"repo={alice}"+in+"&limit=2&cursor=zzzz"),
		query("list reverse", list+"repo={alice}"+in+"&reverse=true&limit=4"),
		query("list reverse on", list+"repo={alice}"+in+"&reverse=true&limit=4&cursor=a"),
		query("list an empty collection", list+"repo={alice}&collection=a.b.c"),
		query("list of nobody", list+"repo=nobody.test"+in),
		loosely(query("list without collection", list+"repo={alice}")),
		query("describeRepo", "com.atproto.repo.describeRepo?repo={alice}"),
		query("describeRepo of nobody", "com.atproto.repo.describeRepo?repo=nobody.test"),
		query("describeRepo of an empty one", "com.atproto.repo.describeRepo?repo={carol}"),
	}
}

// syncSteps compare com.atproto.sync.*.
func syncSteps() []step {
	const record = "com.atproto.sync.getRecord?did={alice}&collection=" + infraCollection + "&rkey="
	return []step{
		{name: "getLatestCommit", run: func(p *peer) answer {
			p.as("")
			r := p.get("com.atproto.sync.getLatestCommit?did={bob}")
			p.vars["latest"] = r.text("cid")
			return r
		}},
		query("getLatestCommit of nobody", "com.atproto.sync.getLatestCommit?did=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"),
		loosely(query("getLatestCommit of a handle", "com.atproto.sync.getLatestCommit?did=alice.test")),
		loosely(query("getLatestCommit without DID", "com.atproto.sync.getLatestCommit")),
		query("proof of presence", record+"a"),
		query("proof of absence", record+"missing"),
		query("proof of absence at the end", record+"zzzz"),
		query("proof of absence elsewhere", "com.atproto.sync.getRecord?did={alice}&collection=z.z.z&rkey=a"),
		query("proof in an empty repository", "com.atproto.sync.getRecord?did={carol}&collection=z.z.z&rkey=a"),
		query("proof of nobody", "com.atproto.sync.getRecord?did=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa&collection=z.z.z&rkey=a"),
		query("getRepo", "com.atproto.sync.getRepo?did={alice}"),
		query("getRepo of an empty one", "com.atproto.sync.getRepo?did={carol}"),
		query("getRepo of nobody", "com.atproto.sync.getRepo?did=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"),
		{name: "getRepo since the latest", run: func(p *peer) answer {
			p.vars["rev"] = p.get("com.atproto.sync.getLatestCommit?did={alice}").text("rev")
			return p.get("com.atproto.sync.getRepo?did={alice}&since={rev}")
		}},
		putStep("put", "since", `{"x":1}`, ""),
		{name: "getRepo since before", run: func(p *peer) answer { return p.get("com.atproto.sync.getRepo?did={alice}&since={rev}") }},
		query("getRepoStatus", "com.atproto.sync.getRepoStatus?did={alice}"),
		query("getRepoStatus of nobody", "com.atproto.sync.getRepoStatus?did=did:plc:aaaaaaaaaaaaaaaaaaaaaaaa"),
		{name: "listRepos", run: func(p *peer) answer {
			r := p.get("com.atproto.sync.listRepos?limit=2")
			p.vars["cursor"] = r.text("cursor")
			return r
		}},
		{name: "listRepos on", run: func(p *peer) answer {
			r := p.get("com.atproto.sync.listRepos?limit=2&cursor={cursor}")
			p.vars["cursor"] = r.text("cursor")
			return r
		}},
		query("listRepos to the end", "com.atproto.sync.listRepos?cursor={cursor}"),
		loosely(query("listRepos, bad cursor", "com.atproto.sync.listRepos?cursor=x")),
	}
}

// httpSteps compare what is below the calls.
func httpSteps() []step {
	return []step{
		{name: "GET of a procedure", run: func(p *peer) answer { return p.get("com.atproto.repo.putRecord") }},
		{name: "POST of a query", run: func(p *peer) answer { return p.post("com.atproto.repo.getRecord", `{}`) }},
		query("unknown method", "com.example.nope"),
		query("subscribeRepos without upgrade", "com.atproto.sync.subscribeRepos"),
		query("health", "_health"),
		{name: "text body", run: func(p *peer) answer {
			p.as("alice")
			return p.fetch(http.MethodPost, p.server.URL+"/xrpc/com.atproto.repo.putRecord", "text/plain", "{}")
		}},
		{name: "no content type", run: func(p *peer) answer {
			return p.fetch(http.MethodPost, p.server.URL+"/xrpc/com.atproto.repo.putRecord", "", "{}")
		}},
		{name: "no body", run: func(p *peer) answer { return p.post("com.atproto.repo.putRecord", "") }},
		{name: "a body where none belongs", run: func(p *peer) answer {
			return p.post("com.atproto.server.refreshSession", `{}`)
		}},
		{name: "content type with charset", run: func(p *peer) answer {
			return p.fetch(http.MethodPost, p.server.URL+"/xrpc/com.atproto.repo.applyWrites", "application/json; charset=utf-8",
				p.expand(`{"repo":"{alice}","writes":[]}`))
		}},
	}
}
