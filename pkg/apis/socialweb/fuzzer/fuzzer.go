// Package fuzzer fills objects of socialweb.computer with random values for the
// round trip tests of their conversions.
package fuzzer

import (
	runtimeserializer "k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/randfill"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

// Funcs are the fill functions of the group. Where the versioned type has a
// default, the internal one never holds the zero value: a round trip would fill
// it in.
var Funcs = func(runtimeserializer.CodecFactory) []any {
	return []any{
		func(s *socialweb.Contract, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.State == "" {
				s.State = socialweb.ContractStaged
			}
		},
		func(s *socialweb.RecordBinding, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.DeletionPolicy == "" {
				s.DeletionPolicy = socialweb.DeletionDelete
			}
		},
		func(s *socialweb.EphemeralInfraSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.TTLSeconds == nil {
				ttl := int32(3600)
				s.TTLSeconds = &ttl
			}
			if s.EndWhen == "" {
				s.EndWhen = socialweb.EndComplete
			}
		},
		func(s *socialweb.InfraCollectionSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.MaxItems == nil {
				n := int32(1000)
				s.MaxItems = &n
			}
		},
		func(s *socialweb.AtprotoRepoSpec, c randfill.Continue) {
			c.FillNoCustom(s)
			if s.Access == "" {
				s.Access = socialweb.AccessReadWrite
			}
			if s.EventSource == "" {
				s.EventSource = socialweb.EventSourceFirehose
			}
			if s.StaleReads == "" {
				s.StaleReads = socialweb.StaleReadsDeny
			}
		},
	}
}
