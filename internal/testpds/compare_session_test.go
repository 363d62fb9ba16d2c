package testpds

import "net/http"

// sessionSteps compare com.atproto.server.* and identity.
func sessionSteps() []step {
	create := func(body string) func(*peer) answer {
		return func(p *peer) answer { p.auth = ""; return p.post("com.atproto.server.createSession", body) }
	}
	refresh := func(p *peer) answer { return p.post("com.atproto.server.refreshSession", "") }
	return []step{
		{name: "login by DID", run: func(p *peer) answer { return p.login("alice") }},
		{name: "login of bob", run: func(p *peer) answer { return p.login("bob") }},
		{name: "login by handle", run: create(`{"identifier":"alice.test","password":"{alice.password}"}`)},
		{name: "login by handle in capitals", run: create(`{"identifier":"Alice.Test","password":"{alice.password}"}`)},
		{name: "wrong password", run: create(`{"identifier":"alice.test","password":"x"}`)},
		{name: "unknown account", run: create(`{"identifier":"nobody.test","password":"x"}`)},
		{name: "no password", run: create(`{"identifier":"alice.test"}`)},
		{name: "password is a number", run: create(`{"identifier":"alice.test","password":3}`), loose: true},
		{name: "getSession", run: func(p *peer) answer { p.as("alice"); return p.get("com.atproto.server.getSession") }},
		{name: "getSession of nobody", run: func(p *peer) answer { p.as(""); return p.get("com.atproto.server.getSession") }},
		{name: "getSession with garbage", run: func(p *peer) answer {
			p.auth = "Bearer garbage"
			return p.get("com.atproto.server.getSession")
		}},
		{name: "getSession with a refresh token", run: func(p *peer) answer {
			p.auth = "Bearer " + p.vars["alice.refresh"]
			return p.get("com.atproto.server.getSession")
		}},
		{name: "getSession with basic", run: func(p *peer) answer {
			p.auth = "Basic YTpi"
			return p.get("com.atproto.server.getSession")
		}},
		{name: "malformed authorization", run: func(p *peer) answer {
			p.auth = "Bearer"
			return p.get("com.atproto.server.getSession")
		}},
		{name: "unknown authorization", run: func(p *peer) answer {
			p.auth = "Magic wand"
			return p.get("com.atproto.server.getSession")
		}},
		{name: "refresh with an access token", run: func(p *peer) answer { p.as("alice"); return refresh(p) }},
		{name: "refresh of nobody", run: func(p *peer) answer { p.as(""); return refresh(p) }},
		{name: "refresh", run: func(p *peer) answer {
			p.vars["old.access"] = p.vars["alice.refresh"]
			p.as("old")
			r := refresh(p)
			p.keep("alice", r)
			return r
		}},
		{name: "refresh again with the used token", run: func(p *peer) answer { p.as("old"); return refresh(p) }},
		{name: "delete the session", run: func(p *peer) answer {
			p.login("bob")
			p.auth = "Bearer " + p.vars["bob.refresh"]
			return p.post("com.atproto.server.deleteSession", "")
		}},
		{name: "refresh a deleted session", run: refresh},
		{name: "deleteSession with an access token", run: func(p *peer) answer {
			p.as("bob")
			return p.post("com.atproto.server.deleteSession", "")
		}},
		{name: "app password", run: func(p *peer) answer {
			p.as("alice")
			r := p.post("com.atproto.server.createAppPassword", `{"name":"ours"}`)
			p.vars["app"] = r.text("password")
			return r
		}},
		{name: "app password of the same name", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAppPassword", `{"name":"ours"}`)
		}},
		{name: "login with the app password", run: func(p *peer) answer {
			p.auth = ""
			r := p.post("com.atproto.server.createSession", `{"identifier":"{alice}","password":"{app}"}`)
			p.keep("appsession", r)
			return r
		}},
		{name: "app password makes no app password", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAppPassword", `{"name":"more"}`)
		}},
		{name: "app password does not deactivate", run: func(p *peer) answer {
			return p.post("com.atproto.server.deactivateAccount", `{}`)
		}},
		{name: "app password writes", run: func(p *peer) answer { return p.put("app", `{"by":"app"}`, "") }},
		{name: "describeServer", run: func(p *peer) answer { return p.get("com.atproto.server.describeServer") }},
		{name: "resolveHandle", run: func(p *peer) answer { return p.get("com.atproto.identity.resolveHandle?handle=bob.test") }},
		{name: "resolveHandle of nobody", run: func(p *peer) answer { return p.get("com.atproto.identity.resolveHandle?handle=nobody.test") }},
		{name: "resolveHandle of no handle", run: func(p *peer) answer { return p.get("com.atproto.identity.resolveHandle?handle=x") }, loose: true},
		{name: "resolveHandle without handle", run: func(p *peer) answer { return p.get("com.atproto.identity.resolveHandle") }, loose: true},
		{name: "createAccount", run: func(p *peer) answer {
			p.as("")
			r := p.post("com.atproto.server.createAccount", `{"handle":"carol.test","email":"carol@example.test","password":"secret-secret"}`)
			p.vars["carol"], p.vars["carol.password"] = r.text("did"), "secret-secret"
			return r
		}},
		{name: "createAccount again", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAccount", `{"handle":"carol.test","email":"carol2@example.test","password":"secret-secret"}`)
		}},
		{name: "createAccount with the same e-mail", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAccount", `{"handle":"dave.test","email":"carol@example.test","password":"secret-secret"}`)
		}},
		{name: "createAccount without e-mail", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAccount", `{"handle":"dave.test","password":"secret-secret"}`)
		}},
		{name: "createAccount elsewhere", run: func(p *peer) answer {
			return p.post("com.atproto.server.createAccount", `{"handle":"dave.com","email":"d@example.test","password":"secret-secret"}`)
		}, loose: true},
		{name: "DID document of nobody", run: func(p *peer) answer {
			return p.fetch(http.MethodGet, p.server.PLCURL+"/did:plc:aaaaaaaaaaaaaaaaaaaaaaaa", "", "")
		}},
	}
}
