package selftest

import (
	"strings"
	"testing"
)

const secured = `
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  imagePullSecrets: [{name: NAME}]
  containers: [{name: probe, image: IMAGE, imagePullPolicy: Always}]
`

func TestPodsPullFromEachRegistry(t *testing.T) {
	c := newCluster(t)
	c.do("up")
	c.needNode()
	s := c.state()
	named := s.Images["probe-named-user"]
	_, path, _ := strings.Cut(named, "/")
	for name, registry := range map[string]string{"password": s.Registry.PasswordAddress, "tls": s.Registry.TLSAddress} {
		c.do("kubectl", "create", "secret", "docker-registry", name,
			"--docker-server="+registry, "--docker-username="+s.Registry.User, "--docker-password="+s.Registry.Password)
		c.apply(strings.NewReplacer("NAME", name, "IMAGE", registry+"/"+path).Replace(secured))
		c.do("kubectl", "wait", "pod/"+name, "--for=condition=Ready", "--timeout=120s")
	}
	pushed := c.do("push", "--like", "oras", t.TempDir(), "items/empty:1")
	if !strings.Contains(pushed, "/items/empty@sha256:") {
		t.Errorf("push prints %q", pushed)
	}
	// The name of its user is known to the image alone, so no one can tell that it is not root.
	c.do("kubectl", "run", "named", "--image="+named, `--overrides={"spec": {"securityContext": {"runAsNonRoot": true}}}`)
	c.waitFor("pod/named", ".status.containerStatuses[0].state.waiting.reason", "CreateContainerConfigError")
	// Without a secret there is no way in.
	c.do("kubectl", "run", "stranger", "--image="+s.Registry.TLSAddress+"/"+path, "--image-pull-policy=Always")
	c.waitFor("pod/stranger", ".status.containerStatuses[0].state.waiting.reason", "ErrImagePull", "ImagePullBackOff")
	c.do("down")
	c.mustHaveLeftNothing()
}
