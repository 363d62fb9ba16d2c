package devpds

import (
	"fmt"
	"testing"
)

// BenchmarkPut measures a put with a swap, and BenchmarkGet a read: by calling
// the handler, over loopback, and with a disk.
func BenchmarkPut(b *testing.B) {
	each(b, func(b *testing.B, c *caller) {
		last := c.put("bench", object{"n": -1}).text("cid")
		for i := 0; b.Loop(); i++ {
			r := c.put("bench", object{"n": i}, "swapRecord", last)
			if r.status != 200 {
				b.Fatalf("put: %s", r.raw)
			}
			last = r.text("cid")
		}
	})
}

func BenchmarkGet(b *testing.B) {
	each(b, func(b *testing.B, c *caller) {
		c.put("bench", object{"n": -1})
		for b.Loop() {
			if r := c.read("bench"); r.status != 200 {
				b.Fatalf("get: %s", r.raw)
			}
		}
	})
}

// BenchmarkProof measures com.atproto.sync.getRecord.
func BenchmarkProof(b *testing.B) {
	each(b, func(b *testing.B, c *caller) {
		c.put("bench", object{"n": -1})
		for b.Loop() {
			if r := c.get("com.atproto.sync.getRecord", "did", c.did, "collection", collection, "rkey", "bench"); r.status != 200 {
				b.Fatalf("proof: %s", r.raw)
			}
		}
	})
}

// each runs f with 1,000 records on the kinds of servers.
func each(b *testing.B, f func(b *testing.B, c *caller)) {
	for name, config := range map[string]Config{
		"handler":  {},
		"loopback": {ListenAddr: "127.0.0.1:0"},
		"disk":     {Dir: b.TempDir()},
	} {
		b.Run(name, func(b *testing.B) {
			var c *caller
			if name == "disk" {
				s := open(b, config)
				c = (&caller{t: b, h: s.Handler(), base: s.URL()}).login(s.Accounts()[0])
			} else {
				_, c = memory(b, config)
				if name == "loopback" {
					c.h = nil
				}
			}
			for i := range 5 {
				var writes []object
				for j := range 200 {
					writes = append(writes, object{
						"$type": applyWritesType + "create", "collection": collection, "rkey": fmt.Sprint("r", i, "-", j), "value": object{"n": j},
					})
				}
				if r := c.post("com.atproto.repo.applyWrites", object{"repo": c.did, "writes": writes}); r.status != 200 {
					b.Fatalf("fill: %s", r.raw)
				}
			}
			f(b, c)
		})
	}
}
