-- :name, :value
insert into lull_mark (name, value) values (:name, :value)
on conflict (name) do update set value = excluded.value;
