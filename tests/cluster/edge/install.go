package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayclient "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
	"sigs.k8s.io/yaml"
)

// InstallDefinitions creates every CustomResourceDefinition below a directory. The API server
// serves them a moment later: DefinitionsServed says when.
func InstallDefinitions(ctx context.Context, config *rest.Config, directory string) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(directory, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no definition of the Gateway API in %s: build.sh puts them there", directory)
	}
	var failures []error
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		_, err = client.ApiextensionsV1().CustomResourceDefinitions().Create(ctx, &definition, metav1.CreateOptions{})
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// DefinitionsServed returns an error until every definition of the cluster is established.
func DefinitionsServed(ctx context.Context, config *rest.Config) error {
	client, err := apiextensions.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := client.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, definition := range list.Items {
		if !established(definition.Status.Conditions) {
			return fmt.Errorf("%s is not established", definition.Name)
		}
	}
	return nil
}

func established(conditions []apiextensionsv1.CustomResourceDefinitionCondition) bool {
	for _, condition := range conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}

// Install creates what the edge may do and what is there for everyone to use: a class of Gateways,
// one of Ingresses, and a Gateway that takes routes from every namespace.
func Install(ctx context.Context, config *rest.Config, endpoint Endpoint) error {
	core, coreErr := kubernetes.NewForConfig(config)
	gateway, gatewayErr := gatewayclient.NewForConfig(config)
	if err := errors.Join(coreErr, gatewayErr); err != nil {
		return err
	}
	created := metav1.CreateOptions{}
	_, roleErr := core.RbacV1().ClusterRoles().Create(ctx, role(), created)
	_, bindingErr := core.RbacV1().ClusterRoleBindings().Create(ctx, roleBinding(), created)
	_, namespaceErr := core.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: GatewayNamespace}}, created)
	_, ingressErr := core.NetworkingV1().IngressClasses().Create(ctx, &networkingv1.IngressClass{
		ObjectMeta: metav1.ObjectMeta{Name: ClassName},
		Spec:       networkingv1.IngressClassSpec{Controller: ingressController},
	}, created)
	if err := errors.Join(roleErr, bindingErr, namespaceErr, ingressErr); err != nil {
		return err
	}
	_, classErr := gateway.GatewayV1().GatewayClasses().Create(ctx, &gatewayv1.GatewayClass{
		ObjectMeta: metav1.ObjectMeta{Name: ClassName},
		Spec:       gatewayv1.GatewayClassSpec{ControllerName: ControllerName},
	}, created)
	_, gatewayErr = gateway.GatewayV1().Gateways(GatewayNamespace).Create(ctx, standingGateway(endpoint), created)
	return errors.Join(classErr, gatewayErr)
}

func standingGateway(endpoint Endpoint) *gatewayv1.Gateway {
	from := gatewayv1.NamespacesFromAll
	return &gatewayv1.Gateway{
		ObjectMeta: metav1.ObjectMeta{Name: GatewayName, Namespace: GatewayNamespace},
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: ClassName,
			Listeners: []gatewayv1.Listener{{
				Name:          "http",
				Protocol:      gatewayv1.HTTPProtocolType,
				Port:          endpoint.Port,
				AllowedRoutes: &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}},
			}},
		},
	}
}

// Programmed returns an error until the standing Gateway says that it works.
func Programmed(ctx context.Context, config *rest.Config) error {
	client, err := gatewayclient.NewForConfig(config)
	if err != nil {
		return err
	}
	gateway, err := client.GatewayV1().Gateways(GatewayNamespace).Get(ctx, GatewayName, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range gateway.Status.Conditions {
		if condition.Type == string(gatewayv1.GatewayConditionProgrammed) && condition.Status == metav1.ConditionTrue {
			return nil
		}
	}
	return errors.New("the Gateway is not programmed")
}

func role() *rbacv1.ClusterRole {
	const gateway, networking, discovery = gatewayv1.GroupName, networkingv1.GroupName, "discovery.k8s.io"
	rule := func(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Verbs: verbs, Resources: resources}
	}
	watch, update := []string{"get", "list", "watch"}, []string{"update"}
	return &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: User},
		Rules: []rbacv1.PolicyRule{
			rule(gateway, watch, "gatewayclasses", "gateways", "httproutes", "grpcroutes"),
			rule(gateway, update, "gatewayclasses/status", "gateways/status", "httproutes/status", "grpcroutes/status"),
			rule(networking, watch, "ingresses"),
			rule(networking, update, "ingresses/status"),
			rule(discovery, watch, "endpointslices"),
			rule("", watch, "namespaces", "services", "persistentvolumeclaims", "persistentvolumes"),
			rule("", update, "services/status", "persistentvolumeclaims/status", "persistentvolumes"),
		},
	}
}

func roleBinding() *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: User},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: User},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: User}},
	}
}
