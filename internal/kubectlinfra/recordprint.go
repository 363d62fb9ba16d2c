package kubectlinfra

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// widest is how much of a value is shown, in characters. -o json shows all.
const widest = 64

// print writes what the record is, the comparison, and what its marks mean.
func (p *pair) print(out io.Writer, rows []row) error {
	status := p.status.Record
	head := [][]string{{"URI:", status.URI}, {"PDS:", p.pds}, {"CID:", p.record.CID}, {"Direction:", string(status.Direction)}}
	if p.record.CID != status.CID {
		head[2][1] += ", the object reflects " + status.CID
	}
	if err := table(out, head); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out); err != nil {
		return err
	}
	lines := [][]string{{same + " FIELD", "RECORD", "OBJECT"}}
	var more bool
	for _, r := range rows {
		more = more || r.mark == beyond
		lines = append(lines, []string{r.mark + " " + r.path, clip(r.record), clip(r.object)})
	}
	if err := table(out, lines); err != nil {
		return err
	}
	return p.printNotes(out, more)
}

func (p *pair) printNotes(out io.Writer, more bool) error {
	var notes []string
	if more {
		notes = append(notes, "+ is beyond the kind: it stays in the record.")
	}
	if c := meta.FindStatusCondition(p.status.Conditions, v1alpha1.ConditionRecordValid); c != nil && c.Status == metav1.ConditionFalse {
		notes = append(notes, v1alpha1.ConditionRecordValid+" is False: "+c.Message)
	}
	for i, n := range notes {
		if i == 0 {
			n = "\n" + n
		}
		if _, err := fmt.Fprintln(out, n); err != nil {
			return err
		}
	}
	return nil
}

func clip(s string) string {
	if r := []rune(s); len(r) > widest {
		return string(r[:widest-1]) + "…"
	}
	return s
}
