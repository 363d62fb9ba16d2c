package repostore

import (
	"slices"
	"time"

	"pgregory.net/rapid"
)

// rules holds each object against what it was a step ago.
func (o *orderRun) rules(rt *rapid.T) {
	for _, name := range orderNames {
		obj, st := o.replicas[0].shown(name)
		was := o.seen[name]
		if obj != nil {
			o.rulesOf(rt, name, was, obj, st)
			o.revs[name] = st.Rev
		}
		if was != nil && obj != nil && was.UID != obj.UID {
			o.lives[name][string(was.UID)] = true
		}
		if obj != nil {
			o.seen[name] = obj
		}
	}
}

func (o *orderRun) rulesOf(rt *rapid.T, name string, was, obj *widget, st stamp) {
	if o.lives[name][string(obj.UID)] {
		rt.Fatalf("%s has a uid of an earlier object", name)
	}
	if st.Rev < o.revs[name] {
		rt.Fatalf("%s: rev went back from %s to %s", name, o.revs[name], st.Rev)
	}
	if got := o.repo.cidAt(recordKey(name), st.Rev); got != st.CID {
		rt.Fatalf("%s says %s at %s, where the record was %q", name, st.CID, st.Rev, got)
	}
	for _, l := range o.labels[string(obj.UID)] {
		if !hasLabels(obj, l) {
			rt.Fatalf("%s lost its label %s, has %v", name, l, obj.Labels)
		}
	}
	if was == nil || was.UID != obj.UID {
		return
	}
	before, after := revision(was), revision(obj)
	switch {
	case after < before:
		rt.Fatalf("%s: resourceVersion fell from %d to %d", name, before, after)
	case was.Generation == 0: // rebuilt
	case obj.Generation < was.Generation:
		rt.Fatalf("%s: generation fell from %d to %d", name, was.Generation, obj.Generation)
	case specChanged(was, obj) && obj.Generation == was.Generation:
		rt.Fatalf("%s: the spec changed without its generation", name)
	case !specChanged(was, obj) && obj.Generation != was.Generation && after == before+1:
		rt.Fatalf("%s: the generation changed without the spec", name)
	}
}

// settle brings everything to rest and compares.
func (o *orderRun) settle() {
	o.next = memFault{}
	o.clock.jump(time.Minute)
	for o.repo.land() {
	}
	for _, r := range slices.Backward(o.replicas) {
		r.hub.sweep(r.ctx(), atOnce)
		r.src.reconnect()
		r.deliverAll()
	}
	o.rules(o.rt)
	for _, r := range o.replicas {
		o.listOn(o.rt, r)
	}
	if left := o.keysBelow("intents"); len(left) > 0 {
		o.rt.Fatalf("intents left: %q", left)
	}
}
