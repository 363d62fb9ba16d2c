package kubectlinfra

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"socialweb.computer/infra-apiserver/pkg/apis/socialweb/v1alpha1"
)

// tell prints what was done, as kubectl patch does.
func (m *move) tell(d *deployment, contracts, changed []string) error {
	m.warn(d, contracts)
	switch m.output {
	case "name":
		_, err := fmt.Fprintln(m.Out, d)
		return err
	case "json", "yaml":
		text, err := manifest(d.object, d.kind, m.output)
		if err == nil {
			_, err = m.Out.Write(text)
		}
		return err
	}
	suffix := map[string]string{"client": " (dry run)", "server": " (server dry run)"}[m.dryRun]
	for _, name := range contracts {
		note := suffix
		if !slices.Contains(changed, name) {
			note = " (no change)" + suffix
		}
		if _, err := fmt.Fprintf(m.Out, "%s contract/%s %s%s\n", d, name, m.done, note); err != nil {
			return err
		}
	}
	return nil
}

// warn tells of requests that nothing will come of.
func (m *move) warn(d *deployment, contracts []string) {
	if m.state != v1alpha1.ContractRequested {
		return
	}
	for _, name := range contracts {
		switch phase := d.phaseOf(name); phase {
		case v1alpha1.ContractPhaseReleased, v1alpha1.ContractPhaseFailed:
			fmt.Fprintf(m.Err, "Warning: contract %s is %s, which is final: stage it first to request it anew\n", name, phase)
		}
	}
}

// manifest is an object as kubectl get prints it.
func manifest(obj runtime.Object, k *kind, format string) ([]byte, error) {
	obj = obj.DeepCopyObject()
	obj.GetObjectKind().SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(k.name))
	object(obj).SetManagedFields(nil)
	if format == "yaml" {
		return yaml.Marshal(obj)
	}
	text, err := json.MarshalIndent(obj, "", "    ")
	return append(text, '\n'), err
}
