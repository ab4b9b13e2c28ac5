"""Options of programs that their manuals have somebody keep in variables, with a secret or without.

The probe and the diagnosis each decide what may be told, in different languages; both are asked.
"""

from __future__ import annotations

HIDDEN = "hidden"

WITH_SECRETS = {
    "RSYNC_PASSWORD": "hidden",
    "PERL_LWP_TOKEN": "hidden",
    "DB_OPTS": "--password=hidden",
    "APP_OPTS": "--api-key hidden",
    "MYSQL_OPTS": "-uroot -phidden",
    "REDIS_FLAGS": "--requirepass hidden",
    "CURL_OPTIONS": '-H "Authorization: Bearer hidden"',
    "WGET_OPTS": "--http-user admin hidden",
    "CATALINA_OPTS": "-Djavax.net.ssl.keyStorePassword=hidden",
    "RESTIC_OPTIONS": "-o s3.Secret=hidden",
    "GIT_OPTS": "--sign hidden",
    "UPLOAD_DIR": "https://ann:hidden@192.0.2.1/files",
    "AUTH_CACHE": "/run/cache?TOKEN=hidden",
    "APP_SALT": "/9j4hidden",
    "SMTP_LOGIN": "ann:hidden",
    "HOOK_URL": "https://hooks.example/T0/hidden",
}

WITHOUT = {
    "JDK_JAVA_OPTIONS": "-Xms400m -XX:+AlwaysPreTouch",
    "NAMED_OPTIONS": "-4 -n 2",
    "WORKER_THREADS": "16",
    "PLUGIN_DIR": "/srv/my-plugins",
    "PGHOST": "/run/postgresql",
    "PGGSSENCMODE": "prefer",
    "PGOPTIONS": "-c parallel_setup_cost=0",
    "PKGSYSTEM_ENABLE_FSYNC": "1",
    "AWS_MAX_ATTEMPTS": "9",
    "JAVA_HOME": "/usr/lib/jvm/java-17-provided",
}
