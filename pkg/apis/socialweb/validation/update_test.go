package validation

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb"
)

const (
	ownURI   = "at://" + alice + "/computer.socialweb.infra/web"
	otherURI = "at://" + alice + "/computer.socialweb.infra/other"
)

func TestValidateInfraUpdate(t *testing.T) {
	cases := []struct {
		name     string
		old, now func(*socialweb.Infra)
		kind     field.ErrorType
		path     string
	}{
		{"nothing", nil, nil, "", ""},
		{"rename", nil, func(i *socialweb.Infra) { i.Name = "x" }, field.ErrorTypeInvalid, "metadata.name"},
		{"unbind", nil, func(i *socialweb.Infra) { i.Spec.Record = nil }, "", ""},
		{"bind", func(i *socialweb.Infra) { i.Spec.Record = nil }, nil, "", ""},
		{"other repository", nil, func(i *socialweb.Infra) { i.Spec.Record.RepoRef.Name = "b" }, field.ErrorTypeInvalid, "spec.record.repoRef.name"},
		{"retain", nil, func(i *socialweb.Infra) { i.Spec.Record.DeletionPolicy = socialweb.DeletionRetain }, "", ""},
		{"uri changed", func(i *socialweb.Infra) { i.Spec.Record.URI = ownURI }, func(i *socialweb.Infra) { i.Spec.Record.URI = otherURI }, field.ErrorTypeInvalid, "spec.record.uri"},
		{"uri removed", func(i *socialweb.Infra) { i.Spec.Record.URI = ownURI }, nil, field.ErrorTypeInvalid, "spec.record.uri"},
		{"uri set to the record it has", func(i *socialweb.Infra) { i.Status.Record = &socialweb.RecordStatus{URI: ownURI} }, func(i *socialweb.Infra) { i.Spec.Record.URI = ownURI }, "", ""},
		{"uri set to another record", func(i *socialweb.Infra) { i.Status.Record = &socialweb.RecordStatus{URI: ownURI} }, func(i *socialweb.Infra) { i.Spec.Record.URI = otherURI }, field.ErrorTypeInvalid, "spec.record.uri"},
		{"uri set before the record is known", nil, func(i *socialweb.Infra) { i.Spec.Record.URI = ownURI }, field.ErrorTypeInvalid, "spec.record.uri"},
		{
			"label of an object that a bound was lowered under",
			func(i *socialweb.Infra) { i.Spec.Description = long(5000) },
			func(i *socialweb.Infra) { i.Spec.Description, i.Labels = long(5000), map[string]string{"a": "b"} },
			"", "",
		},
		{
			"secret left behind by a dropped contract",
			func(i *socialweb.Infra) { i.Spec.Contracts = i.Spec.Contracts[1:] },
			func(i *socialweb.Infra) { i.Spec.Contracts, i.Spec.Description = i.Spec.Contracts[1:], "x" },
			"", "",
		},
		{
			"contract dropped, its secret kept",
			nil,
			func(i *socialweb.Infra) { i.Spec.Contracts = i.Spec.Contracts[1:] },
			field.ErrorTypeInvalid, "spec.secrets[0].contract",
		},
		{
			"secret left behind, changed",
			func(i *socialweb.Infra) { i.Spec.Contracts = i.Spec.Contracts[1:] },
			func(i *socialweb.Infra) {
				i.Spec.Contracts = i.Spec.Contracts[1:]
				i.Spec.Secrets[0].SecretRef.Name = "new"
			},
			field.ErrorTypeInvalid, "spec.secrets[0].contract",
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			old, now := newInfra(t), newInfra(t)
			if tc.old != nil {
				tc.old(old)
			}
			if tc.now != nil {
				tc.now(now)
			}
			want(t, ValidateInfraUpdate(now, old), tc.kind, tc.path)
		})
	}
}

func TestWarnings(t *testing.T) {
	infra := newInfra(t)
	if w := InfraWarnings(&infra.Spec); len(w) != 0 {
		t.Errorf("nothing to warn of, but: %v", w)
	}
	infra.Spec.Contracts[1].UserData = "-----BEGIN RSA PRIVATE KEY-----"
	if w := InfraWarnings(&infra.Spec); len(w) != 1 {
		t.Errorf("a private key in userData: want one warning, got %v", w)
	}
}
