-- The order matters: the last line makes the lines before it final.
SET GLOBAL allow_community_extensions = false;
SET GLOBAL allowed_paths = {paths};
SET GLOBAL enable_external_access = false;
SET GLOBAL lock_configuration = true;
