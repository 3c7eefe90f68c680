package kubernetes

import (
	"errors"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// decode reads a file of deploy, in which it takes another text for one if that is given. A field that the type
// lacks, which may differ by a capital, or that is there twice, is an error.
func decode(t *testing.T, name string, to any, replaced ...string) error {
	t.Helper()
	text, err := os.ReadFile("../../deploy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(replaced...).Replace(string(text))
	if len(replaced) > 0 && changed == string(text) {
		t.Fatalf("%s has no %q", name, replaced[0])
	}
	as, err := yaml.YAMLToJSONStrict([]byte(changed))
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(as, to)
	return errors.Join(append(unknown, err)...)
}

// TestDaemonSet decodes the DaemonSet as an API server does that validates fields strictly.
func TestDaemonSet(t *testing.T) {
	var set appsv1.DaemonSet
	if err := decode(t, "daemonset.yaml", &set); err != nil {
		t.Error(err)
	}
	if set.APIVersion != appsv1.SchemeGroupVersion.String() || set.Kind != "DaemonSet" {
		t.Errorf("it is a %s of %s", set.Kind, set.APIVersion)
	}
	labels := set.Spec.Template.Labels
	for name, value := range set.Spec.Selector.MatchLabels {
		if labels[name] != value {
			t.Errorf("the selector wants %s=%s, the pods have %q", name, value, labels[name])
		}
	}
	for _, wrong := range [][]string{{"hostPID: true", "hostPid: true"}, {"memory: 128Mi", "memory: much"}, {"containerPort: 8889", "containerPort: many"}, {"drop: [ALL]", "drop: ALL"}} {
		if err := decode(t, "daemonset.yaml", new(appsv1.DaemonSet), wrong...); err == nil {
			t.Errorf("%s is accepted", wrong[1])
		}
	}
}

// TestValues decodes what the values for Helm say in the words of Kubernetes. The chart's own words are not checked.
func TestValues(t *testing.T) {
	var values struct {
		Mode              string                      `json:"mode"`
		Image             map[string]string           `json:"image"`
		Command           map[string]string           `json:"command"`
		HostPID           bool                        `json:"hostPID"`
		Resources         corev1.ResourceRequirements `json:"resources"`
		SecurityContext   corev1.SecurityContext      `json:"securityContext"`
		ExtraVolumes      []corev1.Volume             `json:"extraVolumes"`
		ExtraVolumeMounts []corev1.VolumeMount        `json:"extraVolumeMounts"`
	}
	if err := decode(t, "values.yaml", &values); err != nil {
		t.Error(err)
	}
	if err := decode(t, "values.yaml", &values, "readOnly: true", "readonly: [true]"); err == nil {
		t.Error("a wrong mount is accepted")
	}
}
