"""How deliveries get to their providers: one at a time each, as many at once as there are slots and permits."""
