-- :version, :now_ms. Fails when another process applied that migration already.
insert into lull_schema (version, applied_at_ms) values (:version, :now_ms);
