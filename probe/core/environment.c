/* What may be told of an environment. See environment.h. */
#include "core/environment.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, VALUE_BYTES = 16384 };

/* Beginnings, or with "=" whole names; those that change programs by options are of their manual
 * pages: ENVIRONMENT. */
static const char known[] =
	"CC= CXX= LD_ GLIBC_TUNABLES= MALLOC_ OMP_ GOMP_ KMP_ TBB_ OPENSSL_ GOMAXPROCS= GOGC= "
	"GOMEMLIMIT= GODEBUG= PYTHON PERL5LIB= PERL5OPT= PERLIO= PERL_ RUBYOPT= RUBYLIB= RUBY_GC_ "
	"NODE_EXTRA_CA_CERTS= DOTNET_ LUA_ LANG= LANGUAGE= LC_ SHELL= POSIXLY_CORRECT= TZ= "
	"GREP_COLOR LS_COLORS= LESS= LESSOPEN= GZIP= PIGZ= BZIP XZ_ ZSTD_ ZIPOPT= UNZIP= RSYNC_ "
	"CVS_RSH= GIT_PAGER= PAGER= MAKEFILES= CCACHE_ DISTCC_ LOCALDOMAIN= HOSTALIASES= "
	"CURL_CA WGETRC= BASH_ENV= ENV= EVENT_ G_ QT_ GTK_ GDK_ SDL_ MESA_ LIBGL_ vblank_mode= GST_ "
	"OPENCV_ PGGSS PGSSLMODE= TF_NUM_ ORT_ RUST_BACKTRACE= RUST_LOG= RUST_MIN_STACK= RAYON_";

/* Ends of names, of whatever program: nobody knows what its options are. */
static const char known_ends[] =
	"OPTIONS= OPTS= FLAGS= THREADS= JOBS= LEVEL= DEBUG= TRACE= CACHE= SIZE= LIMIT= TIMEOUT= "
	"ATTEMPTS= RETRIES= INTERVAL= DELAY= BACKEND= POLICY= WORKERS= SYNC= "
	"PROXY= _proxy= PATH= DIR= HOME=";

/* What is in a value that has a secret, and in options that may have one: in whatever case.
 * user:password@host is found apart. */
static const char secret[] = "passw secret token key= cred";
static const char suspicious[] = "pass pwd secret token key cred auth user sign -p -u";

static const char of_the_session[] =
	"SSH_ XDG_ DBUS_ SUDO_ USER= LOGNAME= MAIL= TERM= HOSTNAME= DISPLAY= WINDOWID= "
	"INVOCATION_ID= JOURNAL_ NOTIFY_ LISTEN_ MANAGERPID= SYSTEMD_ BENCHVISE_ MOTD_";

/* What the shell keeps for itself. */
static const char of_the_shell[] = "PWD= OLDPWD= SHLVL= _=";

/* Whether one of these words, with a space between any two, is in the text, or begins it. */
static bool has(const char *text, const char *words, bool anywhere)
{
	while (*words) {
		char word[24] = "";
		size_t size = strcspn(words, " ");
		const char *there;

		memcpy(word, words, size);
		there = strstr(text, word);
		if (there && (anywhere || there == text))
			return true;
		words += size;
		words += *words == ' ';
	}
	return false;
}

/* Whether a value is a path below a directory that is there, which something secret that only begins
 * so is not. */
static bool is_path(const char *value)
{
	char top[NAME_BYTES];

	if (value[0] != '/' || !value[1])
		return false;
	snprintf(top, sizeof(top), "%.*s", (int)strcspn(value + 1, "/:") + 1, value);
	return access(top, F_OK) == 0;
}

/* Whether a value is a place that programs open or ask, and may wait for: a path, a socket, an
 * address of numbers or of this machine with its port. Names of hosts are none: who is user and
 * number, or has a secret in an address of the web, looks alike. */
static bool is_place(const char *value)
{
	const char *host = strstr(value, "://");
	size_t length;

	if (strncmp(value, "unix:", 5) == 0 || is_path(value))
		return true;
	host = host ? host + 3 : value;
	if (host[0] == '/') /* file:///run, unix:///run */
		return is_path(host);
	length = strncmp(host, "localhost", 9) == 0 ? 9 : strspn(host, "0123456789.");
	if (host[0] == '[')
		length = strcspn(host, "]") + 1;
	return host[length] == ':' && strspn(host + length + 1, "0123456789") > 0 &&
	       !strpbrk(host, " @");
}

bool environment_is_of_session(const char *variable)
{
	const char *value = strchr(variable, '=');

	return has(variable, of_the_shell, false) ||
	       (has(variable, of_the_session, false) && !(value && is_place(value + 1)));
}

void environment_describe(struct json *j, const char *variable)
{
	size_t length = strcspn(variable, "=");
	char name[NAME_BYTES], told[NAME_BYTES + 1];
	const char *untold = NULL;
	uint32_t digest;
	static char value[VALUE_BYTES]; /* PATH has been seen with 5000 characters */
	static char small[NAME_BYTES + VALUE_BYTES];

	if (!variable[length] || length == 0 || length >= sizeof(name))
		return;
	snprintf(name, sizeof(name), "%.*s", (int)length, variable);
	snprintf(told, sizeof(told), "%s=", name);
	if (environment_is_of_session(variable)) {
		json_true(j, name);
		return;
	}
	snprintf(value, sizeof(value), "%s", variable + length + 1);
	snprintf(small, sizeof(small), "%s", variable); /* RSYNC_PASSWORD= says it by its name */
	for (char *c = small; *c; c++)
		*c |= ' '; /* letters become small ones */
	if (has(variable, known, false))
		untold = secret;
	else if (is_place(value))
		untold = secret; /* of a path, - is no option */
	else if (has(told, known_ends, true))
		untold = suspicious;
	if (untold && !has(small, untold, true) &&
	    !(strstr(value, "://") && strchr(value, '@'))) {
		json_string(j, name, value);
		return;
	}
	/* 16 bits tell that another board has another value, and too little to try what it is. */
	digest = 2166136261u; /* FNV-1a */
	for (const char *c = variable; *c; c++)
		digest = (digest ^ (unsigned char)*c) * 16777619u;
	snprintf(value, sizeof(value), "given (#%04x)", (digest ^ digest >> 16) & 0xffff);
	json_string(j, name, value);
}
